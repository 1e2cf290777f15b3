/**
 * Sets of code points as `/capabilities.json` writes them: `20-7E,A0`, which are inclusive ranges in hexadecimal. A string, because
 * a font of Chinese has thousands of ranges, and the edge compares and forwards them far more often than anybody reads them.
 */

/** Sorted, with at least one code point that is missing between two neighbours. */
export type CodePoints = readonly CodePointRange[];
export type CodePointRange = readonly [first: number, last: number];

export const MAX_CODE_POINT = 0x10ffff;
/** What a string of ranges is made of. Whether they are in order is found out by `parseCodePoints`. */
export const CODE_POINTS_PATTERN = /^[0-9A-F,-]*$/;

/** The set that has all code points of these ranges, which may overlap and be in any order. */
export function codePointsOf(ranges: Iterable<CodePointRange>): CodePoints {
  const merged: [number, number][] = [];
  for (const [first, last] of [...ranges].sort(([left], [right]) => left - right)) {
    const previous = merged.at(-1);
    if (previous !== undefined && first <= previous[1] + 1) previous[1] = Math.max(previous[1], last);
    else merged.push([first, last]);
  }
  return merged;
}

export function formatCodePoints(codePoints: CodePoints): string {
  return codePoints.map(([first, last]) => (first === last ? hex(first) : `${hex(first)}-${hex(last)}`)).join();
}

/** Parses what `formatCodePoints` writes; null if it is not valid. */
export function parseCodePoints(text: string): CodePoints | null {
  const ranges: [number, number][] = [];
  if (text === "") return ranges;
  let end = -1;
  for (const part of text.split(",")) {
    const [, from = "", to = from] = /^([0-9A-F]{1,6})(?:-([0-9A-F]{1,6}))?$/.exec(part) ?? [];
    const [first, last] = [Number.parseInt(from, 16), Number.parseInt(to, 16)];
    if (!(first > end && first <= last && last <= MAX_CODE_POINT)) return null;
    ranges.push([first, last]);
    end = last;
  }
  return ranges;
}

/** What both have. */
export function commonCodePoints(one: CodePoints, other: CodePoints): CodePoints {
  const common: CodePointRange[] = [];
  for (let left = 0, right = 0; left < one.length && right < other.length; ) {
    const [firstOfOne, lastOfOne] = one[left] ?? [0, 0];
    const [firstOfOther, lastOfOther] = other[right] ?? [0, 0];
    const [first, last] = [Math.max(firstOfOne, firstOfOther), Math.min(lastOfOne, lastOfOther)];
    if (first <= last) common.push([first, last]);
    if (lastOfOne < lastOfOther) left++;
    else right++;
  }
  return common;
}

export function hasCodePoint(codePoints: CodePoints, codePoint: number): boolean {
  let [low, high] = [0, codePoints.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((codePoints[middle]?.[1] ?? 0) < codePoint) low = middle + 1;
    else high = middle;
  }
  return (codePoints[low]?.[0] ?? Number.POSITIVE_INFINITY) <= codePoint;
}

function hex(codePoint: number): string {
  return codePoint.toString(16).toUpperCase();
}
