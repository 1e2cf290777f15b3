/** Which files of a request are fonts: Typst looks at the ends of names alone. */

const FONT_NAME = /\.(?:ttf|otf|ttc|otc)$/i;
/** Fonts for web pages, which Typst does not read. */
const WEB_FONT_NAME = /\.woff2?$/i;

export function isFont(key: string): boolean {
  return FONT_NAME.test(key);
}

export function isWebFont(key: string): boolean {
  return WEB_FONT_NAME.test(key);
}
