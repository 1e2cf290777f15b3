/**
 * What the service itself keeps in its work directory, beside the directories of the renders. The address of a socket has
 * room for few bytes, so names are short.
 */
import { join } from "node:path";

const NAMES = {
  /** The socket that answers while the directory is claimed. */
  claim: "claim",
  /** The socket to which the streams of programs connect. */
  streams: "streams",
  sandboxRoot: "sandbox-root",
  seccompFilter: "seccomp.bpf",
  /** Given to Typst as its package folder where none is set. */
  emptyPackages: "no-packages",
} as const;

export function workDirectoryPath(workDirectory: string, name: keyof typeof NAMES): string {
  return join(workDirectory, NAMES[name]);
}
