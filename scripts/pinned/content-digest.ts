/** The SHA-256 of `find . -type f -printf '%P\0' | LC_ALL=C sort -z | xargs -0 sha256sum` in a folder. */
import { hash } from "node:crypto";
import { readdir, readFile } from "node:fs/promises";
import { join, relative } from "node:path";

export function sha256(bytes: Uint8Array | string): string {
  return hash("sha256", bytes);
}

export function contentDigest(hashes: ReadonlyMap<string, string>): string {
  const sorted = [...hashes].sort(([left], [right]) => Buffer.compare(Buffer.from(left), Buffer.from(right)));
  return sha256(sorted.map(([path, hash]) => `${hash}  ${path}\n`).join(""));
}

/** The digest of what is in a folder; null if it does not exist or holds anything but files and folders. */
export async function folderDigest(folder: string): Promise<string | null> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true }).catch(() => null);
  if (entries === null || entries.some((entry) => !entry.isFile() && !entry.isDirectory())) return null;
  const hashes = new Map<string, string>();
  for (const entry of entries.filter((found) => found.isFile())) {
    const path = join(entry.parentPath, entry.name);
    hashes.set(relative(folder, path), sha256(await readFile(path)));
  }
  return contentDigest(hashes);
}
