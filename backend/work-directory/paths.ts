/** Where the work directory is by default, and the service's own files in it. */
import { tmpdir } from "node:os";
import { isAbsolute, join } from "node:path";
import type { Environment } from "../../rules/settings.ts";
import { cacheFolder, homeFolder, NO_HOME } from "../../typst/cache-folder.mjs";

const NAMES = {
  /** The socket that accepts connections while the directory is claimed. */
  claim: "claim",
  launcher: "launcher",
  sandboxRoot: "sandbox-root",
  seccompFilter: "seccomp.bpf",
  emptyPackages: "no-packages",
} as const;

/** What versions 1.3 and 2.0 had in their work directories beside these. A crash may have left it. */
const EARLIER_NAMES = ["streams", "fifos"];

/** The directories and files of renders: a prefix, and a UUID. Versions before 2.0 made six letters. */
const RENDER_NAME = /^(?:(?:render|output|kept)-(?:[A-Za-z0-9]{6}|[0-9a-f-]{36})|spool-[0-9a-f-]{36})$/;

/** Whether the service gives this name to something in its work directory. */
export function isServiceName(name: string): boolean {
  return RENDER_NAME.test(name) || [...Object.values(NAMES), ...EARLIER_NAMES].includes(name);
}

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
  const isHomeless = homeFolder(environment) === NO_HOME && !isAbsolute(environment.XDG_CACHE_HOME ?? "");
  // No folder of others above it: whoever owns one could put another directory in its place.
  if (ofService === undefined && isHomeless) return join(tmpdir(), `document-rendering-work-${port}`);
  return join(ofService ?? cacheFolder(environment), `work-${port}`);
}

/** What the directories of one render take on disk at most: 16,384 of them, more than 64 of the longest keys name. */
export const MAX_DIRECTORY_BYTES = 64 * 1024 ** 2;
