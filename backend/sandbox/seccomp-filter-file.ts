/**
 * The filter of system calls as a file of the work directory: bubblewrap reads it by a descriptor, setpriv by its path.
 */
import type { BackendSettings } from "../settings.ts";
import { workDirectoryPath } from "../work-directory/paths.ts";
import { writeMissing } from "./write-missing.ts";

export interface SeccompFilterFile {
  readonly path: string;
  /** Writes the file where it is missing. */
  write(): Promise<void>;
}

export function seccompFilterFile({ workDirectory }: BackendSettings, filter: Uint8Array): SeccompFilterFile {
  const path = workDirectoryPath(workDirectory, "seccompFilter");
  return { path, write: () => writeMissing(path, filter) };
}
