/**
 * The filter of system calls as a file of the work directory: bubblewrap reads it from a descriptor, setpriv by its path.
 */
import { writeFile } from "node:fs/promises";
import { SettingError } from "../../rules/settings.ts";
import type { BackendSettings } from "../start/settings.ts";
import { workDirectoryPath } from "../work-directory/paths.ts";
import { seccompFilter } from "./seccomp.ts";

/**
 * Writes the filter for this machine's processor.
 *
 * @returns the path of the file.
 * @throws SettingError if no filter is known for the processor.
 */
export async function writeSeccompFilter({ workDirectory }: BackendSettings): Promise<string> {
  const filter = seccompFilter(process.arch);
  if (filter === null) throw new SettingError(`No system call filter is known for ${process.arch}.`);
  const path = workDirectoryPath(workDirectory, "seccompFilter");
  await writeFile(path, filter);
  return path;
}
