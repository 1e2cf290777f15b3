/**
 * Which directories the files of a render lie in.
 */
import { dirname } from "node:path";

/** Every directory that these relative paths lie in, each after those that it lies in itself. */
export function directoriesOf(files: readonly string[]): string[] {
  const directories = new Set<string>();
  for (const file of files) {
    const added: string[] = [];
    for (let path = dirname(file); path !== "." && !directories.has(path); path = dirname(path)) added.push(path);
    for (const path of added.reverse()) directories.add(path);
  }
  return [...directories];
}

/** Of an empty directory, on the file systems that one meets. */
const DIRECTORY_BYTES = 4096;
/** What the directories of one render are taken to need at most: 16,000 of them, as many as 64 of the longest keys name. */
export const MAX_DIRECTORY_BYTES = 64 * 1024 ** 2;

/** What the directories of these files need on disk, bounded by `MAX_DIRECTORY_BYTES`. */
export function neededDirectoryBytes(files: readonly string[]): number {
  return Math.min(MAX_DIRECTORY_BYTES, countNamedDirectories(files) * DIRECTORY_BYTES);
}

/** How many directories these relative paths name, those that they share counted for each: at least as many as there are. */
export function countNamedDirectories(files: readonly string[]): number {
  let count = 0;
  for (const file of files) for (const character of file) if (character === "/") count++;
  return count;
}
