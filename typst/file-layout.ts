/**
 * The files in a project root that are not the caller's: its data, and second names for fonts, which Typst 0.15.1 knows
 * by their extensions, all lower or all upper case, with something before them.
 */
import { FONT_NAME } from "../rules/fonts/font-names.ts";

/** The name of the file with `data`. Keys cannot contain a colon, so no file of a request can have this name. */
export const DATA_FILE_NAME = ":data.json";

const EXTENSIONS_KNOWN_TO_TYPST = new Set(["ttf", "otf", "ttc", "otc", "TTF", "OTF", "TTC", "OTC"]);

/** A second name by which Typst finds a font that it would not find by its key; null if it needs none. */
export function fontLinkName(key: string, index: number): string | null {
  const [, before, extension] = FONT_NAME.exec(key) ?? [];
  if (extension === undefined || (before !== "" && EXTENSIONS_KNOWN_TO_TYPST.has(extension))) return null;
  return `:font-${index}.${extension.toLowerCase()}`;
}
