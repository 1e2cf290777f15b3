/**
 * Caller text inside our own: made encodable, then shortened.
 *
 * Lone surrogates become the literal text `\uXXXX` first, so that every answer can be written as UTF-8, and only then
 * is the text cut, at a code point.
 */

/** Longest segment of a `path` or `loc`, in code points. */
export const MAX_SEGMENT_CODE_POINTS = 80;
/** Longest `msg` of a validation error, in code points. */
export const MAX_MESSAGE_CODE_POINTS = 200;

const ELLIPSIS = "…";

/** `text` with each lone surrogate written out as `\uXXXX` in lower-case hexadecimal. */
export function escapeLoneSurrogates(text: string): string {
  if (text.isWellFormed()) return text;
  return text.replace(/\p{Surrogate}/gu, (unit) => `\\u${unit.charCodeAt(0).toString(16)}`);
}

/** `text`, encodable, and at most `maxCodePoints` long: a longer one ends with an ellipsis. */
export function shorten(text: string, maxCodePoints: number): string {
  const encodable = escapeLoneSurrogates(text);
  if (encodable.length <= maxCodePoints) return encodable;
  // Twice as many UTF-16 units hold enough code points, so a long text is never taken apart whole.
  const codePoints = Array.from(encodable.slice(0, 2 * maxCodePoints + 2));
  if (codePoints.length <= maxCodePoints) return encodable;
  return codePoints.slice(0, maxCodePoints - 1).join("") + ELLIPSIS;
}

/** A path with its string segments shortened, for `path` and `loc`. */
export function shortenPath(path: readonly (string | number)[]): (string | number)[] {
  return path.map((segment) => (typeof segment === "string" ? shorten(segment, MAX_SEGMENT_CODE_POINTS) : segment));
}

/** Caller text in quotation marks, short enough for a `msg` or a `detail`. */
export function quote(text: string): string {
  return `"${shorten(text, MAX_SEGMENT_CODE_POINTS)}"`;
}
