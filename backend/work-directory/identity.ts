/**
 * Distinguishes a file from one that was created later under the same name.
 */
import type { Stats } from "node:fs";

/** Different for any two files. The inode number alone is not enough, because file systems reuse it. */
export function identityOf({ dev, ino, birthtimeMs }: Stats): string {
  return `${dev}:${ino}:${birthtimeMs}`;
}
