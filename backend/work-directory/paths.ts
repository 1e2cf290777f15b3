/** Where the work directory is by default, what is in it, and which directories the files of a render need. */
import { dirname, join } from "node:path";
import type { Environment } from "../../rules/settings.ts";
import { cacheFolder } from "../../typst/cache-folder.mjs";

const NAMES = {
  /** The socket that accepts connections while the directory is claimed. */
  claim: "claim",
  launcher: "launcher",
  sandboxRoot: "sandbox-root",
  seccompFilter: "seccomp.bpf",
  fifos: "fifos",
  emptyPackages: "no-packages",
} as const;

export function workDirectoryPath(workDirectory: string, name: keyof typeof NAMES): string {
  return join(workDirectory, NAMES[name]);
}

/** The directories that systemd makes for a service: the first on a disk, the last in memory. */
const SYSTEMD_VARIABLES = ["CACHE_DIRECTORY", "STATE_DIRECTORY", "RUNTIME_DIRECTORY"] as const;

/**
 * On a disk from which nothing removes old files. One directory per port: several backends of one user have their own.
 */
export function defaultWorkDirectory(environment: Environment, port: number): string {
  const [ofService] = SYSTEMD_VARIABLES.flatMap((name) => environment[name]?.split(":", 1)[0] || []);
  return join(ofService ?? cacheFolder(environment), `work-${port}`);
}

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

/** Shared ones are counted for each path. */
export function countNamedDirectories(files: readonly string[]): number {
  let count = 0;
  for (const file of files) for (const character of file) if (character === "/") count++;
  return count;
}
