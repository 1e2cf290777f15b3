/**
 * The files in a project root that are not the caller's: its data, and second names for its fonts. No key can have the
 * names of these, because keys have neither a colon nor a plus sign.
 */
import { isFont } from "./fonts/font-names.ts";

export const DATA_FILE_NAME = ":data.json";

const EXTENSION_LENGTH = ".ttf".length;

/**
 * Of fonts that fit equally well, Typst takes the first, and it reads a folder in the order of the file system: the hash of
 * the name on ext4, the newest first in memory. So each font gets a folder of its own, in the order of the keys, and Typst
 * gets these folders. The names are also such that Typst 0.15.1 knows them, which it does not for `Brand.Ttf`.
 */
export function fontLinks<File extends { readonly key: string }>(files: readonly File[]) {
  return files
    .filter(({ key }) => isFont(key))
    .sort((left, right) => (left.key < right.key ? -1 : 1))
    .map((file, index) => ({
      file,
      path: `${fontFolder(index)}/font${file.key.slice(-EXTENSION_LENGTH).toLowerCase()}`,
    }));
}

/** Without a colon, at which Typst splits `--font-path`. */
export function fontFolder(index: number): string {
  return `+font-${index}`;
}
