/**
 * Telling a file from another one that was made later under its name.
 */
import type { Stats } from "node:fs";

/** Different for any two files. The inode number alone would not be: file systems use it again. */
export function identityOf({ dev, ino, birthtimeMs }: Stats): string {
  return `${dev}:${ino}:${birthtimeMs}`;
}
