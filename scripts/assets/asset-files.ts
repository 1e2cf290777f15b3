/** The static files as a server needs to know them: content type, entity tag, and the compressed forms that lie beside each. */
import { hash } from "node:crypto";
import { readdir, readFile, stat } from "node:fs/promises";
import { extname, join } from "node:path";
import type { StaticForm } from "../../edge/platform/node/static-files.ts";
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
  readonly forms: Readonly<Partial<Record<"br" | "gzip", StaticForm>>>;
}

/** Lists the files below a folder. @throws if one has an extension without a known content type */
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
    const present = COMPRESSED_FORMS.filter(({ extension }) => paths.includes(path + extension));
    const forms = present.map(async ({ encoding, extension }) => {
      const { size } = await stat(join(folder, path + extension));
      return [encoding, { file: `static${path}${extension}`, bytes: size }] as const;
    });
    const entityTag = hash("sha256", content).slice(0, 32);
    return { path, contentType, entityTag, bytes: content.length, forms: Object.fromEntries(await Promise.all(forms)) };
  };
  return Promise.all(paths.filter((path) => !isForm(path)).map(describe));
}
