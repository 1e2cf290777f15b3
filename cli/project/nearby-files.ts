/**
 * The files of a folder and of those in it, as far as a suggestion needs them.
 */
import { readdir } from "node:fs/promises";
import { join, posix } from "node:path";

/** A folder may be of any size; what is found first is enough to suggest from. */
const MAX_ENTRIES = 2000;

/** Keys below a folder, those that are not deep first. Hidden ones and node_modules are left out. */
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
