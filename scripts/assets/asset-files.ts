/** The static files for the Worker of `edge/standalone/assets-worker.ts`: descriptions, and a binding for each form. */
import { hash } from "node:crypto";
import { readdir, readFile } from "node:fs/promises";
import { extname, join } from "node:path";
import { type AssetDescription, assetBinding } from "../../edge/standalone/assets-worker.ts";
import { COMPRESSED_FORMS } from "./static-file.ts";

export const ASSETS_WORKER = "edge/standalone/assets-worker.ts";

/** The same as those of Cloudflare's asset server. */
const CONTENT_TYPES: Readonly<Record<string, string>> = {
  ".bin": "application/octet-stream",
  ".css": "text/css; charset=utf-8",
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".json": "application/json",
  ".otf": "font/otf",
  ".png": "image/png",
  ".svg": "image/svg+xml",
  ".tgz": "application/octet-stream",
  ".ttf": "font/ttf",
  ".txt": "text/plain; charset=utf-8",
  ".whl": "application/octet-stream",
  ".woff2": "font/woff2",
};

/** Describes the files below a folder. @throws if one has an extension without a known content type */
export async function describeAssets(folder: string) {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const paths = entries
    .filter((entry) => entry.isFile() && !entry.name.startsWith("."))
    .map((entry) => join(entry.parentPath, entry.name).slice(folder.length))
    .sort();
  const isForm = (path: string) => COMPRESSED_FORMS.some(({ extension }) => path.endsWith(extension));
  const descriptions: Record<string, AssetDescription> = {};
  /** The path of each form below the folder, with a slash before it, by the name of its binding. */
  const bindings = new Map<string, string>();
  for (const path of paths.filter((each) => !isForm(each))) {
    const contentType = CONTENT_TYPES[extname(path)];
    if (contentType === undefined) throw new Error(`${path} has an extension without a content type`);
    const forms = COMPRESSED_FORMS.filter(({ extension }) => paths.includes(path + extension));
    descriptions[path] = {
      contentType,
      entityTag: hash("sha256", await readFile(join(folder, path))).slice(0, 32),
      encodings: forms.map(({ encoding }) => encoding),
    };
    bindings.set(assetBinding(path, null), path);
    for (const { encoding, extension } of forms) bindings.set(assetBinding(path, encoding), path + extension);
  }
  return { descriptions, bindings };
}
