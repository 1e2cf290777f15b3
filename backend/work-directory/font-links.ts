/**
 * The fonts among the files of a request: which they are, and by which name Typst finds them.
 *
 * Typst looks for fonts below a folder by the extension of their names alone, and 0.15.1 knows the extensions in lower and
 * in upper case, but no mixture of both. WOFF and WOFF2 it does not read at all.
 */

/** As in file names: there is something before the dot. */
const FONT_NAME = /[^/]\.(ttf|otf|ttc|otc)$/i;
const EXTENSIONS_KNOWN_TO_TYPST = new Set(["ttf", "otf", "ttc", "otc", "TTF", "OTF", "TTC", "OTC"]);

/** Whether a file is a font, by its key. */
export function isFont(key: string): boolean {
  return FONT_NAME.test(key);
}

/**
 * A second name, by which Typst finds a font that it would not find by its key; null if it needs none. A colon is
 * outside the character class of keys, so no file can have the name.
 *
 * @param index of the file in its request.
 */
export function fontLinkName(key: string, index: number): string | null {
  const extension = FONT_NAME.exec(key)?.[1];
  if (extension === undefined || EXTENSIONS_KNOWN_TO_TYPST.has(extension)) return null;
  return `:font-${index}.${extension.toLowerCase()}`;
}
