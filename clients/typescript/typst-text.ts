/**
 * What can be said of Typst sources by their text alone.
 */

/**
 * The text without its comments; the lines stay. `//` after a colon is a URL. A comment that is not closed has no end.
 */
export function withoutComments(source: string): string {
  return source
    .replace(/\/\*[\s\S]*?(?:\*\/|$)/g, (comment) => comment.replace(/[^\n]+/g, " "))
    .replace(/(?<!:)\/\/[^\n]*/g, "");
}
