/** Changes a folder of vendored files and its lock file, one run at a time: all is prepared before anything moves. */
import { mkdir, mkdtemp, readdir, rename, rm, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { withLock } from "../set-up/lock.mjs";

const WORK_PREFIX = ".work-";

/** What is to be vendored is not available or is refused. The message is for the operator. */
export class VendoringError extends Error {
  override readonly name = "VendoringError";
}

export interface FolderChange {
  /** Paths in the folder that are taken out, if they are there. */
  readonly leaving: readonly string[];
  readonly arriving: readonly { readonly from: string; readonly path: string }[];
  readonly lockFile: { readonly name: string; readonly content: object };
}

/** If the plan, which gets an empty folder for what is new, fails, the folder is as it was. */
export function changeFolder<Change extends FolderChange>(
  folder: string,
  plan: (prepared: string) => Promise<Change>,
): Promise<Change> {
  return withLock(join(folder, ".lock"), "to change this folder", new AbortController().signal, async () => {
    // Only the holder of the lock may have a work folder: others were left by runs that were killed.
    for (const name of await readdir(folder)) {
      if (name.startsWith(WORK_PREFIX)) await rm(join(folder, name), { recursive: true, force: true });
    }
    const work = await mkdtemp(join(folder, WORK_PREFIX));
    try {
      const prepared = join(work, "new");
      await mkdir(prepared);
      const change = await plan(prepared);
      const { leaving, arriving, lockFile } = change;
      await writeFile(join(work, lockFile.name), `${JSON.stringify(lockFile.content, null, 2)}\n`);
      for (const { path } of arriving) await mkdir(dirname(join(folder, path)), { recursive: true });
      for (const path of leaving) await rm(join(folder, path), { recursive: true, force: true });
      for (const { from, path } of arriving) await rename(from, join(folder, path));
      await rename(join(work, lockFile.name), join(folder, lockFile.name));
      return change;
    } finally {
      await rm(work, { recursive: true, force: true });
    }
  });
}
