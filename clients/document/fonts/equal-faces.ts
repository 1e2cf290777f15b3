/**
 * Fonts of a request that Typst 0.15 does not tell apart: of one family, style, weight and width. It takes the first for
 * all text, and which is first is decided by the order of their names (typst/file-layout.ts).
 */
import type { CharacterRanges } from "../../../typst/fonts/characters.ts";
import { type FontFace, type FontVariant, fontFaces } from "../../../typst/fonts/font-file.ts";
import { isFont } from "../../../typst/fonts/font-names.ts";
import { countInWords, firstSentences } from "../size-in-words.ts";

export interface EqualFaces {
  readonly family: string;
  readonly variant: FontVariant;
  /** Of the one that Typst uses. */
  readonly firstKey: string;
  readonly otherKey: string;
}

interface FileFace extends FontFace {
  readonly key: string;
  readonly bytes: Uint8Array;
}

/** Each is compared with the others of its family. */
const MAX_FACES = 1000;
const MAX_NAMED = 3;

export function findEqualFaces(files: readonly { readonly key: string; readonly bytes: Uint8Array }[]): EqualFaces[] {
  const faces = files
    .filter(({ key }) => isFont(key))
    .sort((left, right) => (left.key < right.key ? -1 : 1))
    .flatMap(({ key, bytes }) => fontFaces(bytes).map((face): FileFace => ({ ...face, key, bytes })))
    .slice(0, MAX_FACES);
  return faces.flatMap((face, index) => {
    for (const first of faces.slice(0, index)) {
      const variant = commonVariant(first, face);
      if (variant !== undefined) return [{ family: face.family, variant, firstKey: first.key, otherKey: face.key }];
    }
    return [];
  });
}

export function describeEqualFaces(all: readonly EqualFaces[]): readonly string[] {
  const describe = ({ family, variant, firstKey, otherKey }: EqualFaces) => {
    const { style, weight, stretch_percent } = variant;
    const what = `"${family}", ${style}, weight ${weight.max}, width ${stretch_percent.max} %`;
    return `${firstKey} and ${otherKey} are the same to Typst (${what}): it uses the first alone. Leave one out, or give it another family name.`;
  };
  const others = (count: number) => `Typst does not use ${countInWords(count, "more font")} for this reason.`;
  return firstSentences(all, MAX_NAMED, describe, others);
}

/** A variant for which Typst finds both equally good; undefined if there is none, or the fonts have no letter in common. */
function commonVariant(first: FileFace, other: FileFace): FontVariant | undefined {
  if (first.family.toLowerCase() !== other.family.toLowerCase() || first.isVariable !== other.isVariable)
    return undefined;
  const found = other.variants.find((variant) => first.variants.some((one) => overlap(one, variant)));
  if (found === undefined || isSameFile(first, other)) return undefined;
  return haveCommonLetter(first.characters, other.characters) ? found : undefined;
}

function overlap(left: FontVariant, right: FontVariant): boolean {
  const meet = (a: FontVariant["weight"], b: FontVariant["weight"]) => a.min <= b.max && b.min <= a.max;
  return (
    left.style === right.style && meet(left.weight, right.weight) && meet(left.stretch_percent, right.stretch_percent)
  );
}

/** A copy of a font changes nothing. The fonts of a collection are not compared: no collection has one twice. */
function isSameFile(left: FileFace, right: FileFace): boolean {
  if (left.bytes.length !== right.bytes.length) return false;
  return left.key !== right.key && left.bytes.every((byte, index) => byte === right.bytes[index]);
}

/** Parts of one font for different scripts, as web pages have them, complete each other. */
function haveCommonLetter(left: CharacterRanges, right: CharacterRanges): boolean {
  let place = 0;
  for (const [first, last] of left) {
    while ((right[place]?.[1] ?? Number.POSITIVE_INFINITY) < first) place++;
    for (let index = place; index < right.length; index++) {
      const [start, end] = right[index] ?? [0, 0];
      if (start > last) break;
      for (let code = Math.max(first, start); code <= Math.min(last, end); code++) {
        if (/\p{L}/u.test(String.fromCodePoint(code))) return true;
      }
    }
  }
  return false;
}
