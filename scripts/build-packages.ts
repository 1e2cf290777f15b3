/** `npm run build:packages`: packs what is published. npm compares PACKAGE_REPOSITORY with the provenance. */
import { mkdir, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { execa } from "execa";
import { sha256 } from "./pinned/content-digest.ts";

const ROOT = fileURLToPath(new URL("../", import.meta.url));
/** An argument names another folder, for tests. */
const TARGET = resolve(process.argv[2] ?? join(ROOT, "dist/packages"));
const { PACKAGE_REPOSITORY: repositoryUrl } = process.env;

await rm(TARGET, { recursive: true, force: true });
await mkdir(TARGET, { recursive: true });
const built = ["client", "cli", "e-invoice"].map((part) => ({ part, folder: join(TARGET, part) }));
await Promise.all(
  built.map(async ({ part, folder }) => {
    await execa(process.execPath, ["scripts/build-package.ts", part, folder], { cwd: ROOT });
    if (repositoryUrl) await addRepository(join(folder, "package.json"), repositoryUrl);
  }),
);
await execa("npm", ["pack", ...built.map(({ folder }) => folder), "--pack-destination", TARGET], { cwd: ROOT });
for (const { folder } of built) await rm(folder, { recursive: true });
const names = (await readdir(TARGET)).toSorted();
const sums = names.map(async (name) => `${sha256(await readFile(join(TARGET, name)))}  ${name}\n`);
await writeFile(join(TARGET, "SHA256SUMS"), await Promise.all(sums));
process.stdout.write(`${TARGET} is ready: ${names.join(", ")}\n`);

async function addRepository(path: string, url: string): Promise<void> {
  const manifest: object = JSON.parse(await readFile(path, "utf8"));
  await writeFile(path, `${JSON.stringify({ ...manifest, repository: { type: "git", url } }, null, 2)}\n`);
}
