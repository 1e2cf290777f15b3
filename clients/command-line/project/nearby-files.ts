/**
 * Lists the files of a folder and its subfolders, as far as suggestions need them.
 */
import { readdir } from "node:fs/promises";
import { join, posix } from "node:path";

/** A folder may be of any size. The first files found are enough for suggestions. */
const MAX_ENTRIES = 2000;

/** The keys of files below a folder, the shallow ones first. Hidden files and node_modules are left out. */
export async function nearbyFiles(root: string): Promise<string[]> {
  const files: string[] = [];
  const folders = [""];
  let seen = 0;
  for (let folder = folders.shift(); folder !== undefined && seen < MAX_ENTRIES; folder = folders.shift()) {
    for (const entry of await readdir(join(root, folder), { withFileTypes: true }).catch(() => [])) {
      if (++seen > MAX_ENTRIES) break;
      if (entry.name.startsWith(".") || entry.name === "node_modules") continue;
      const key = posix.join(folder, entry.name);
      if (entry.isDirectory()) folders.push(key);
      else files.push(key);
    }
  }
  return files;
}
