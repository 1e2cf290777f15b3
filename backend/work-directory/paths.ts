/**
 * The service's own files in its work directory, next to the directories of the renders. The names are short because the
 * address of a socket has room for few bytes.
 */
import { join } from "node:path";

const NAMES = {
  /** The socket that accepts connections while the directory is claimed. */
  claim: "claim",
  /** The FIFOs of the launcher's shells. */
  launcher: "launcher",
  sandboxRoot: "sandbox-root",
  seccompFilter: "seccomp.bpf",
  /** FIFOs that are not in use yet. */
  fifos: "fifos",
  /** Typst's package folder if none is set. */
  emptyPackages: "no-packages",
} as const;

export function workDirectoryPath(workDirectory: string, name: keyof typeof NAMES): string {
  return join(workDirectory, NAMES[name]);
}
