/**
 * The files in the project root of a render that are not the caller's own: its data, and names by which Typst finds its
 * fonts.
 *
 * Typst recognises fonts only by their file extensions, and 0.15.1 only if these are all lower case or all upper case
 * and something comes before them.
 */
import { FONT_NAME } from "../rules/font-names.ts";

/** The name of the file with `data`. Keys cannot contain a colon, so no file of a request can have this name. */
export const DATA_FILE_NAME = ":data.json";

const EXTENSIONS_KNOWN_TO_TYPST = new Set(["ttf", "otf", "ttc", "otc", "TTF", "OTF", "TTC", "OTC"]);

/** A second name by which Typst finds a font that it would not find by its key; null if it needs none. */
export function fontLinkName(key: string, index: number): string | null {
  const [, before, extension] = FONT_NAME.exec(key) ?? [];
  if (extension === undefined || (before !== "" && EXTENSIONS_KNOWN_TO_TYPST.has(extension))) return null;
  return `:font-${index}.${extension.toLowerCase()}`;
}
