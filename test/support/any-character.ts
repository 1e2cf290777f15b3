/**
 * Any character, for texts: the same as the unit "binary" of fast-check, which fills a table of all of them, of 120 MB.
 */
import fc from "fast-check";

const SURROGATES = { first: 0xd800, count: 0x800 } as const;
const MAX_CODE_POINT = 0x10ffff;

export const ANY_CHARACTER = fc.nat({ max: MAX_CODE_POINT - SURROGATES.count }).map(
  (index) => String.fromCodePoint(index < SURROGATES.first ? index : index + SURROGATES.count),
  (value) => {
    const [character = "", ...more] = typeof value === "string" ? value : "";
    const codePoint = character.codePointAt(0);
    if (codePoint === undefined || more.length > 0 || !character.isWellFormed()) throw new Error("not one character");
    return codePoint < SURROGATES.first ? codePoint : codePoint - SURROGATES.count;
  },
);
