/**
 * Text for a POSIX shell. Every word of a path or an argument passes through here.
 */

/** A text as one word, whatever it contains but NUL, which nothing in a command line can contain. */
export function quote(text: string): string {
  if (text.includes("\0")) throw new TypeError("a command line cannot contain NUL");
  return `'${text.replaceAll("'", "'\\''")}'`;
}

/** A simple command. The first word may be a function of the shell. */
export function shellCommand(...words: readonly string[]): string {
  return words.map(quote).join(" ");
}
