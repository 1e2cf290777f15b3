/**
 * What the service itself keeps in its work directory, beside the projects of the renders. An address of a socket has
 * room for few bytes, so names are short.
 */
import { join } from "node:path";

const NAMES = {
  /** The socket that answers while the directory is claimed. */
  claim: "claim",
  /** The socket at which the streams of programs arrive. */
  streams: "streams",
  sandboxRoot: "sandbox-root",
  seccompFilter: "seccomp.bpf",
  /** FIFOs that wait to be used. */
  fifos: "fifos",
  /** The folder given to Typst as the package folder where none is set: it must have one, and it must be empty. */
  emptyPackages: "no-packages",
} as const;

export function workDirectoryPath(workDirectory: string, name: keyof typeof NAMES): string {
  return join(workDirectory, NAMES[name]);
}
