/**
 * The scripts of the world that documents are written in today, by their codes (ISO 15924), and which of their
 * characters a font must have to be one for them. Pure: `Intl` and the tables of regular expressions know the rest.
 */
import { hasCharacter } from "./characters.ts";
import type { FontFace } from "./font-file.ts";

/** Scripts, each with one of its first letters: the letters after it are examples of the script. */
const FIRST_LETTERS = {
  Adlm: 0x1e900,
  Arab: 0x0621,
  Armn: 0x0531,
  Bali: 0x1b05,
  Beng: 0x0985,
  Bopo: 0x3105,
  Cans: 0x1401,
  Cher: 0x13a0,
  Copt: 0x2c80,
  Cyrl: 0x0401,
  Deva: 0x0905,
  Ethi: 0x1200,
  Geor: 0x10d0,
  Grek: 0x0391,
  Gujr: 0x0a85,
  Guru: 0x0a05,
  Hang: 0xac00,
  Hani: 0x4e00,
  Hebr: 0x05d0,
  Hira: 0x3041,
  Java: 0xa984,
  Kana: 0x30a1,
  Khmr: 0x1780,
  Knda: 0x0c85,
  Laoo: 0x0e81,
  Latn: 0x0041,
  Lisu: 0xa4d0,
  Mlym: 0x0d05,
  Mong: 0x1820,
  Mtei: 0xabc0,
  Mymr: 0x1000,
  Nkoo: 0x07ca,
  Olck: 0x1c5a,
  Orya: 0x0b05,
  Rohg: 0x10d00,
  Sinh: 0x0d85,
  Sund: 0x1b83,
  Syrc: 0x0710,
  Taml: 0x0b85,
  Telu: 0x0c05,
  Tfng: 0x2d30,
  Thaa: 0x0780,
  Thai: 0x0e01,
  Tibt: 0x0f40,
  Vaii: 0xa500,
  Yiii: 0xa000,
} as const;

export type Script = keyof typeof FIRST_LETTERS;

export const SCRIPTS: readonly Script[] = Object.keys(FIRST_LETTERS).filter(isScript);

/**
 * The scripts of Typst 0.15's own fonts, without the ones for formulas and code (test/clients/document/fonts/document-fonts.test.ts).
 */
export const SCRIPTS_OF_TYPST = [
  ...["Armn", "Cher", "Copt", "Cyrl", "Geor", "Grek", "Hebr", "Latn"],
] as const satisfies readonly Script[];

/** Signs that many scripts share, and marks, are not looked at one by one. */
const OF_TYPST = new RegExp(
  `^[${["Zyyy", "Zinh", ...SCRIPTS_OF_TYPST].map((script) => `\\p{Script=${script}}`).join("")}]$`,
  "u",
);
const FIRST_EMOJI = 0x1f000;

/** Whether a character is one that Typst's own fonts have, as far as its script tells. */
function isOfTypst(codePoint: number): boolean {
  return codePoint < FIRST_EMOJI && OF_TYPST.test(String.fromCodePoint(codePoint));
}

/** Characters after the Latin ones, which are in every font of Typst's own. */
const BEYOND_LATIN = /[^\0-\u024f]/gu;
const ESCAPE = /\\u(?:\{([0-9a-f]{1,6})\}|([0-9a-f]{4}))/gi;
const MAX_CODE_POINT = 0x10ffff;

/** The code points in texts, and in their escapes, that Typst's own fonts lack by their scripts. */
export function charactersBeyondTypst(texts: readonly string[]): number[] {
  const found = new Set<number>();
  for (const text of texts) {
    for (const [character] of text.matchAll(BEYOND_LATIN)) found.add(character.codePointAt(0) ?? 0);
    for (const [, braced, plain] of text.matchAll(ESCAPE)) found.add(Number.parseInt(braced ?? plain ?? "0", 16));
  }
  return [...found].filter((codePoint) => codePoint <= MAX_CODE_POINT && !isOfTypst(codePoint));
}

/** Scripts whose letters join, move or merge: a font that does not shape them writes them wrongly. */
const SHAPED: ReadonlySet<Script> = new Set<Script>([
  ...(["Adlm", "Arab", "Mong", "Nkoo", "Rohg", "Syrc", "Thaa"] as const),
  ...(["Beng", "Deva", "Gujr", "Guru", "Knda", "Mlym", "Mtei", "Orya", "Sinh", "Taml", "Telu"] as const),
  ...(["Bali", "Java", "Khmr", "Laoo", "Mymr", "Sund", "Thai", "Tibt"] as const),
]);

/** Whether a font for formulas or code is none for the script. */
export function isShaped(script: Script): boolean {
  return SHAPED.has(script);
}

const PATTERNS: ReadonlyMap<Script, RegExp> = new Map(
  SCRIPTS.map((script) => [script, new RegExp(`^\\p{Script=${script}}$`, "u")]),
);

/** Null for signs that many scripts share, and for scripts that are not in the list. */
export function scriptOf(character: string): Script | null {
  for (const [script, pattern] of PATTERNS) if (pattern.test(character)) return script;
  return null;
}

/** In English: "Devanagari". */
export function nameOfScript(script: Script): string {
  return new Intl.DisplayNames(["en"], { type: "script" }).of(script) ?? script;
}

/** A font may lack some of the letters, as hardly any has all of those that a script got over time. */
const EXAMPLES = 40;
const MIN_COVERED_SHARE = 0.75;
/** The letters of a script lie together. */
const MAX_DISTANCE = 256;
/** Where the first letters of Unicode are rare ones. */
const COMMON_LETTERS: Partial<Readonly<Record<Script, string>>> = {
  Hani: "一二三四五六七八九十上下中大小人山川日月火水木金土天年子女王手口目心文本生白立見",
  Laoo: "ກຂຄງຈຊຍດຕຖທນບປຜຝພຟມຢຣລວສຫອຮ",
};

/** The scripts whose letters fonts have together. A font for formulas or code is none for a script that it cannot shape. */
export function scriptsOfFonts(faces: readonly Pick<FontFace, "isForText" | "characters">[]): Script[] {
  return SCRIPTS.filter((script) => {
    const able = faces.filter(({ isForText }) => isForText || !isShaped(script));
    return isCovered(script, (codePoint) => able.some(({ characters }) => hasCharacter(characters, codePoint)));
  });
}

export function isCovered(script: Script, has: (codePoint: number) => boolean): boolean {
  const examples = examplesOf(script);
  return examples.filter(has).length >= Math.ceil(examples.length * MIN_COVERED_SHARE);
}

export function examplesOf(script: Script): number[] {
  const common = COMMON_LETTERS[script];
  if (common !== undefined) return Array.from(common, (character) => character.codePointAt(0) ?? 0);
  const first = FIRST_LETTERS[script];
  const examples: number[] = [];
  for (let codePoint = first; codePoint < first + MAX_DISTANCE && examples.length < EXAMPLES; codePoint++) {
    const character = String.fromCodePoint(codePoint);
    if (/\p{L}/u.test(character) && PATTERNS.get(script)?.test(character)) examples.push(codePoint);
  }
  return examples;
}

function isScript(name: string): name is Script {
  return Object.hasOwn(FIRST_LETTERS, name);
}
