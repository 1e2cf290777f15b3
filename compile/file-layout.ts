/**
 * The files in the project root of a render that are not the caller's own: its data, and names by which Typst finds its fonts.
 *
 * Typst recognises fonts only by their file extensions, and 0.15.1 only if these are all lower case or all upper case and
 * something comes before them. It does not read WOFF or WOFF2.
 */

/** The name of the file with `data`. Keys cannot contain a colon, so no file of a request can have this name. */
export const DATA_FILE_NAME = ":data.json";

/** The first group is empty if the name is nothing but an extension. */
const FONT_NAME = /([^/]?)\.(ttf|otf|ttc|otc)$/i;
const EXTENSIONS_KNOWN_TO_TYPST = new Set(["ttf", "otf", "ttc", "otc", "TTF", "OTF", "TTC", "OTC"]);

/** Whether a file is a font, by its key. */
export function isFont(key: string): boolean {
  return FONT_NAME.test(key);
}

/**
 * A second name by which Typst finds a font that it would not find by its key; null if it needs none. Keys cannot contain a
 * colon, so no file can have this name.
 *
 * @param index the index of the file in its request.
 */
export function fontLinkName(key: string, index: number): string | null {
  const [, before, extension] = FONT_NAME.exec(key) ?? [];
  if (extension === undefined || (before !== "" && EXTENSIONS_KNOWN_TO_TYPST.has(extension))) return null;
  return `:font-${index}.${extension.toLowerCase()}`;
}
