/**
 * The files that Typst writes into an output directory: counted, measured and removed, however many there are.
 *
 * Typst makes a file per page, and one page over the limit at most. Machine code in its place can make hundreds of
 * thousands in a second, so nothing here lists them all.
 */
import { opendir, rmdir, stat, unlink } from "node:fs/promises";
import { join } from "node:path";
import { describeError } from "../error-log.ts";
import { removeManyFiles } from "./directory-tree.ts";

export interface OutputFiles {
  readonly names: readonly string[];
  /** Whether there are more than `names`, which `bytes` does not count. */
  readonly areMore: boolean;
  readonly bytes: number;
}

const MAX_WITHOUT_THREAD = 256;

const NAMES_PER_READ = 512;

/** Lists at most `maxFiles` files of a directory without subdirectories, and adds up their sizes. */
export async function listOutputFiles(directory: string, maxFiles: number): Promise<OutputFiles> {
  const names: string[] = [];
  let areMore = false;
  for await (const { name } of await opendir(directory, { bufferSize: NAMES_PER_READ })) {
    // Leaving the loop closes the directory.
    areMore = names.length === maxFiles;
    if (areMore) break;
    names.push(name);
  }
  const sizes = await Promise.all(names.map(async (name) => (await stat(join(directory, name))).size));
  return { names, areMore, bytes: sizes.reduce((sum, size) => sum + size, 0) };
}

export async function removeOutputFiles(directory: string): Promise<void> {
  try {
    const { names, areMore } = await listOutputFiles(directory, MAX_WITHOUT_THREAD);
    if (areMore) return await removeManyFiles(directory);
    await Promise.all(names.map((name) => unlink(join(directory, name))));
    await rmdir(directory);
  } catch (error) {
    if (describeError(error).code !== "ENOENT") throw error;
  }
}
