/** The static files as a server needs to know them: content type and entity tag. */
import { hash } from "node:crypto";
import { readdir, readFile } from "node:fs/promises";
import { extname, join } from "node:path";
import { COMPRESSED_FORMS } from "./static-file.ts";

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

export interface AssetFile {
  /** Below the folder, with a slash before it. */
  readonly path: string;
  readonly contentType: string;
  readonly entityTag: string;
  readonly bytes: number;
}

/** Lists the files below a folder, without the compressed forms that lie beside them. @throws if one has an extension without a known content type */
export async function listAssets(folder: string): Promise<readonly AssetFile[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const paths = entries
    .filter((entry) => entry.isFile() && !entry.name.startsWith(".") && !entry.name.endsWith(".tmp"))
    .map((entry) => join(entry.parentPath, entry.name).slice(folder.length))
    .sort();
  const isForm = (path: string) => COMPRESSED_FORMS.some(({ extension }) => path.endsWith(extension));
  const describe = async (path: string): Promise<AssetFile> => {
    const contentType = CONTENT_TYPES[extname(path)];
    if (contentType === undefined) throw new Error(`${path} has an extension without a content type`);
    const content = await readFile(join(folder, path));
    return { path, contentType, entityTag: hash("sha256", content).slice(0, 32), bytes: content.length };
  };
  return Promise.all(paths.filter((path) => !isForm(path)).map(describe));
}
