/** Where the work directory is by default, and the service's own files in it, beside those of the renders. */
import { join } from "node:path";
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

/**
 * The directories that systemd makes for a service whose unit has CacheDirectory=, StateDirectory= or
 * RuntimeDirectory=; the first on a disk, the last in memory. A variable with several paths separates them by colons.
 */
const SYSTEMD_VARIABLES = ["CACHE_DIRECTORY", "STATE_DIRECTORY", "RUNTIME_DIRECTORY"] as const;

/**
 * In a place from which nothing removes old files, unlike /tmp and /var/tmp, and with room for the outputs of many
 * renders, unlike `$XDG_RUNTIME_DIR`. One directory per port, so that several backends of one user have their own.
 */
export function defaultWorkDirectory(environment: Environment, port: number): string {
  const [ofService] = SYSTEMD_VARIABLES.flatMap((name) => environment[name]?.split(":", 1)[0] || []);
  return join(ofService ?? cacheFolder(environment), `work-${port}`);
}
