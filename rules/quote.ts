/** Text of the caller in a response: made encodable, so that the response is valid UTF-8, then shortened. */

export const MAX_SEGMENT_CODE_POINTS = 80;
export const MAX_MESSAGE_CODE_POINTS = 200;

const ELLIPSIS = "…";

/** `text` with each lone surrogate replaced by `\uXXXX` in lower-case hexadecimal. */
export function escapeLoneSurrogates(text: string): string {
  if (text.isWellFormed()) return text;
  return text.replace(/\p{Surrogate}/gu, (unit) => `\\u${unit.charCodeAt(0).toString(16)}`);
}

/** `text`, encodable and at most `maxCodePoints` long. A shortened text ends with an ellipsis. */
export function shorten(text: string, maxCodePoints: number): string {
  const encodable = escapeLoneSurrogates(text);
  if (encodable.length <= maxCodePoints) return encodable;
  // A code point has at most two UTF-16 units, so this slice is long enough, and a long text is not split completely.
  const codePoints = Array.from(encodable.slice(0, 2 * maxCodePoints + 2));
  if (codePoints.length <= maxCodePoints) return encodable;
  return codePoints.slice(0, maxCodePoints - 1).join("") + ELLIPSIS;
}

export function shortenPath(path: readonly (string | number)[]): (string | number)[] {
  return path.map((segment) => (typeof segment === "string" ? shorten(segment, MAX_SEGMENT_CODE_POINTS) : segment));
}

export function quote(text: string): string {
  return `"${shorten(text, MAX_SEGMENT_CODE_POINTS)}"`;
}
