/**
 * The directory that holds the temporary projects: emptied at start, so that a crash leaves nothing behind for long.
 */
import { mkdir, readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import type { BackendSettings } from "./settings.ts";

/** Makes the work directory, readable by this user alone, and empties it. */
export async function prepareWorkDirectory(settings: BackendSettings): Promise<void> {
  const { workDirectory } = settings;
  await mkdir(workDirectory, { recursive: true, mode: 0o700 });
  for (const name of await readdir(workDirectory)) {
    await rm(join(workDirectory, name), { recursive: true, force: true });
  }
  await mkdir(emptyPackageDirectory(settings));
}

/** The folder given as the package folder where none is set: Typst must have one, and it must be empty. */
export function emptyPackageDirectory({ workDirectory }: BackendSettings): string {
  return join(workDirectory, "no-packages");
}
