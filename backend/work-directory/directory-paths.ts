/** The directories that contain the files of a render. */
import { dirname } from "node:path";

/** All directories that contain these relative paths, parents first. */
export function directoriesOf(files: readonly string[]): string[] {
  const directories = new Set<string>();
  for (const file of files) {
    const added: string[] = [];
    for (let path = dirname(file); path !== "." && !directories.has(path); path = dirname(path)) added.push(path);
    for (const path of added.reverse()) directories.add(path);
  }
  return [...directories];
}

const DIRECTORY_BYTES = 4096;
/** For 16,000 of them, which 64 of the longest keys name. */
export const MAX_DIRECTORY_BYTES = 64 * 1024 ** 2;

/** What the directories of these files need on disk, at most `MAX_DIRECTORY_BYTES`. */
export function neededDirectoryBytes(files: readonly string[]): number {
  return Math.min(MAX_DIRECTORY_BYTES, countNamedDirectories(files) * DIRECTORY_BYTES);
}

/** Shared ones are counted for each path, so it is an upper bound. */
export function countNamedDirectories(files: readonly string[]): number {
  let count = 0;
  for (const file of files) for (const character of file) if (character === "/") count++;
  return count;
}
