/** Which files of a request are fonts. Typst looks at the ends of names alone, and reads neither WOFF nor WOFF2. */

/** The first group is empty if the name is nothing but an extension. */
export const FONT_NAME = /([^/]?)\.(ttf|otf|ttc|otc)$/i;

export function isFont(key: string): boolean {
  return FONT_NAME.test(key);
}
