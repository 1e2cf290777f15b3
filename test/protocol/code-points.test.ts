/** Sets of code points, and how they are written. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  type CodePoints,
  codePointsOf,
  commonCodePoints,
  formatCodePoints,
  hasCodePoint,
  MAX_CODE_POINT,
  parseCodePoints,
} from "../../protocol/code-points.ts";

const anyRanges = fc.array(fc.tuple(fc.nat(60), fc.nat(6)).map(([first, size]) => [first, first + size] as const));
const members = (set: CodePoints) =>
  Array.from({ length: 80 }, (_, index) => index).filter((n) => hasCodePoint(set, n));

describe("a set of code points", () => {
  it("is written as ranges of hexadecimal numbers, and read again", () => {
    const set = codePointsOf([
      [0xa0, 0xa0],
      [0x20, 0x40],
      [0x41, 0x7e],
      [0x10fffe, MAX_CODE_POINT],
    ]);
    expect(formatCodePoints(set)).toBe("20-7E,A0,10FFFE-10FFFF");
    expect(parseCodePoints("20-7E,A0,10FFFE-10FFFF")).toEqual(set);
    expect(parseCodePoints("")).toEqual([]);
  });

  it.each(["a0", "20-", "-20", "20,,21", "21,20", "20-30,30", "30-20", "110000", "0000020", "x"])(
    "is not read from %j",
    (text) => {
      expect(parseCodePoints(text)).toBeNull();
    },
  );

  it("contains exactly the members of its ranges, in any order, and stays the same when written and read", () => {
    fc.assert(
      fc.property(anyRanges, (ranges) => {
        const set = codePointsOf(ranges);
        const expected = new Set(
          ranges.flatMap(([first, last]) => Array.from({ length: last - first + 1 }, (_, i) => first + i)),
        );
        expect(members(set)).toEqual([...expected].sort((a, b) => a - b));
        expect(parseCodePoints(formatCodePoints(set))).toEqual(set);
      }),
    );
  });

  it("shares with another set exactly the members of both", () => {
    fc.assert(
      fc.property(anyRanges, anyRanges, (left, right) => {
        const [one, other] = [codePointsOf(left), codePointsOf(right)];
        const common = commonCodePoints(one, other);
        expect(members(common)).toEqual(members(one).filter((n) => hasCodePoint(other, n)));
        expect(commonCodePoints(other, one)).toEqual(common);
      }),
    );
  });
});
