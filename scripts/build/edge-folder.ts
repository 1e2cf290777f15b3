/** The edge as a folder: one program of Node and its static files. All settings come from the environment when it starts. */
import { copyFile, mkdir, rm, symlink, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { STATIC_INDEX, type StaticFile } from "../../edge/platform/node/static-files.ts";
import { LICENCES_FILE } from "../../protocol/routes.ts";
import { type AssetFile, listAssets } from "../assets/asset-files.ts";
import { provideStaticAssets } from "../assets/static-assets.ts";
import { compressedForms } from "../assets/static-file.ts";
import { bundleProgram } from "./worker.ts";

export const EDGE_PROGRAM = "start.mjs";
const MAIN = "edge/platform/node/main.ts";
const FILES = "static";

const PROJECT = new URL("../../", import.meta.url);
const SOURCE = fileURLToPath(new URL(`edge/${FILES}`, PROJECT));

/** @param content "links": of the static files, for a folder that stays on this machine and does not outlive a build */
export async function writeEdge(folder: string, content: "copies" | "links" = "copies"): Promise<void> {
  await provideStaticAssets();
  const [program, assets] = await Promise.all([bundleProgram(MAIN), listAssets(SOURCE)]);
  await rm(folder, { recursive: true, force: true });
  await mkdir(folder, { recursive: true });
  await Promise.all([
    writeFile(join(folder, EDGE_PROGRAM), program),
    copyFile(new URL("LICENSE", PROJECT), join(folder, "LICENSE")),
    copyFile(join(SOURCE, LICENCES_FILE), join(folder, "THIRD-PARTY-LICENSES.txt")),
  ]);
  const store = content === "links" ? asTheyAre : (asset: AssetFile) => storeCompressed(asset, folder);
  if (content === "links") await symlink(SOURCE, join(folder, FILES));
  const stored = await Promise.all(assets.map(async (asset) => [asset.path, await store(asset)] as const));
  await writeFile(join(folder, STATIC_INDEX), `${JSON.stringify(Object.fromEntries(stored), null, 2)}\n`);
}

/** Uncompressed: nothing is far away where `npm start` runs. */
async function asTheyAre({ path, contentType, entityTag, bytes }: AssetFile): Promise<StaticFile> {
  return { contentType, entityTag, bytes, forms: { identity: { file: `${FILES}${path}`, bytes } } };
}

/** Text is stored in its compressed forms alone. */
async function storeCompressed(asset: AssetFile, folder: string): Promise<StaticFile> {
  const { path, contentType, entityTag, bytes } = asset;
  const compressed = await compressedForms(path, join(SOURCE, path));
  const all = compressed.length > 0 ? compressed : [{ encoding: "identity", extension: "", content: null }];
  const forms: Record<string, { file: string; bytes: number }> = {};
  for (const { encoding, extension, content } of all) {
    const file = `${FILES}${path}${extension}`;
    await mkdir(dirname(join(folder, file)), { recursive: true });
    if (content === null) await copyFile(join(SOURCE, path), join(folder, file));
    else await writeFile(join(folder, file), content);
    forms[encoding] = { file, bytes: content?.length ?? bytes };
  }
  return { contentType, entityTag, bytes, forms };
}
