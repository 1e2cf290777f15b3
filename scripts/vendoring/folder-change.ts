/**
 * Changes a folder of vendored files and its lock file: completely or not at all, and one run at a time.
 *
 * What is new is prepared in a work folder beside the rest and moved into place. The lock file is replaced last.
 */
import { existsSync } from "node:fs";
import { mkdir, mkdtemp, readdir, rename, rm, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { withLock } from "../set-up/lock.mjs";

const WORK_PREFIX = ".work-";
const RUN_LOCK_NAME = ".lock";

/** What is to be vendored is not available or is refused. The message is for the operator. */
export class VendoringError extends Error {
  override readonly name = "VendoringError";
}

export interface FolderChange {
  /** Paths in the folder that are taken out, if they are there. */
  readonly leaving: readonly string[];
  /** Folders that are moved to paths in the folder. */
  readonly arriving: readonly { readonly from: string; readonly path: string }[];
  readonly lockFile: { readonly name: string; readonly content: object };
}

/**
 * Plans a change and carries it out. If either fails, the folder is as it was.
 *
 * @param plan gets the path of an empty folder for what is new.
 * @returns what the plan returns as its result.
 */
export async function changeFolder<Result>(
  folder: string,
  plan: (work: string) => Promise<{ readonly change: FolderChange; readonly result: Result }>,
): Promise<Result> {
  const firstMade = await mkdir(folder, { recursive: true });
  const lock = join(folder, RUN_LOCK_NAME);
  try {
    return await withLock(lock, "to change this folder", new AbortController().signal, async () => {
      await removeLeftOvers(folder);
      const work = await mkdtemp(join(folder, WORK_PREFIX));
      try {
        const prepared = join(work, "new");
        await mkdir(prepared);
        const { change, result } = await plan(prepared);
        await carryOut(folder, work, change);
        return result;
      } finally {
        await rm(work, { recursive: true, force: true });
      }
    });
  } catch (error) {
    if (firstMade !== undefined) await rm(firstMade, { recursive: true, force: true });
    throw error;
  }
}

/** Only the holder of the lock may have a work folder, so any that exist were left by runs that were killed. */
async function removeLeftOvers(folder: string): Promise<void> {
  for (const name of await readdir(folder)) {
    if (name.startsWith(WORK_PREFIX)) await rm(join(folder, name), { recursive: true, force: true });
  }
}

/** If a step fails, those before it are undone. */
async function carryOut(folder: string, work: string, { leaving, arriving, lockFile }: FolderChange): Promise<void> {
  const undo: (() => Promise<unknown>)[] = [];
  const move = async (from: string, to: string) => {
    const firstMade = await mkdir(dirname(to), { recursive: true });
    if (firstMade !== undefined) undo.push(() => rm(firstMade, { recursive: true, force: true }));
    await rename(from, to);
    undo.push(() => rename(to, from));
  };
  try {
    for (const path of leaving) {
      if (existsSync(join(folder, path))) await move(join(folder, path), join(work, "old", path));
    }
    for (const { from, path } of arriving) await move(from, join(folder, path));
    const prepared = join(work, lockFile.name);
    await writeFile(prepared, `${JSON.stringify(lockFile.content, null, 2)}\n`);
    await rename(prepared, join(folder, lockFile.name));
  } catch (error) {
    for (const step of undo.reverse()) await step();
    throw error;
  }
  for (const path of leaving) await removeEmptyParents(folder, path);
}

async function removeEmptyParents(folder: string, path: string): Promise<void> {
  for (let parent = dirname(path); parent !== "."; parent = dirname(parent)) {
    const names = await readdir(join(folder, parent)).catch(() => null);
    if (names?.length === 0) await rm(join(folder, parent), { recursive: true });
  }
}
