/** A Typst text without its comments; the lines stay. `//` after a colon is a URL. An open comment has no end. */
export function removeComments(source: string): string {
  return source
    .replace(/\/\*[\s\S]*?(?:\*\/|$)/g, (comment) => comment.replace(/[^\n]+/g, " "))
    .replace(/(?<!:)\/\/[^\n]*/g, "");
}
