/**
 * Which directories the files of a project lie in.
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

/** How many directories these relative paths name, those that they share counted for each: at least as many as there are. */
export function countNamedDirectories(files: readonly string[]): number {
  let count = 0;
  for (const file of files) for (const character of file) if (character === "/") count++;
  return count;
}
