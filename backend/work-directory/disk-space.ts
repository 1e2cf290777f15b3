/** Whether the file system of the work directory has room for the files of a render. */
import { constants, type StatsFs } from "node:fs";
import { access, statfs } from "node:fs/promises";

/** With less, files of renders cannot be written: most take less, and a larger output is a file. */
const FULL_DISK_BYTES = 1024 * 1024;
/** The same for inodes. A render takes one for each of its files, directories and pages. */
const FULL_DISK_INODES = 16;

/** The free space in bytes; infinite on a file system without a size, such as ramfs or a tmpfs with `size=0`. */
export async function freeDiskBytes(workDirectory: string): Promise<number> {
  return freeBytesOf(await statfs(workDirectory));
}

function freeBytesOf({ blocks, bavail, bsize }: StatsFs): number {
  return blocks === 0 ? Number.POSITIVE_INFINITY : bavail * bsize;
}

/** Whether nothing can be written there: the disk is full or read-only, or it has failed. */
export async function isDiskFull(workDirectory: string): Promise<boolean> {
  try {
    await access(workDirectory, constants.W_OK);
    const space = await statfs(workDirectory);
    // Some file systems make inodes as they need them and count none.
    const lacksInodes = space.files > 0 && space.ffree < FULL_DISK_INODES;
    return lacksInodes || freeBytesOf(space) < FULL_DISK_BYTES;
  } catch {
    return true;
  }
}
