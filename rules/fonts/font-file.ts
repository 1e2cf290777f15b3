/**
 * The families by which Typst 0.15 knows the fonts of a file, from their tables of names, whether they are bold, and which
 * characters they have. A file may be anything: nothing is read beyond its end, and no more tables, names and characters
 * than real fonts have.
 */
import { type CharacterRanges, charactersOf } from "./characters.ts";

/** A collection of the whole of Noto CJK has 45. */
const MAX_FACES = 64;
/** OpenType knows some fifty kinds of tables. */
const MAX_TABLES = 256;
/** Fonts with names in all languages of Windows have some hundreds. */
const MAX_NAMES = 4096;
/** In UTF-16. Longer ones name no family: the styles at their end would take time to find. */
const MAX_NAME_BYTES = 1024;
const COLLECTION = 0x74746366; // ttcf
/** Semibold. */
const MIN_BOLD_WEIGHT = 600;

const NAME_FAMILY = 1;
const NAME_POST_SCRIPT = 6;
const PLATFORM = { unicode: 0, macintosh: 1, windows: 3 } as const;

export interface FontFace {
  readonly family: string;
  /** A variable font, and one that Typst knows by a list, may be. */
  readonly mayBeBold: boolean;
  /** Whether it is made for text: not for formulas, and not of one width as for code. */
  readonly isForText: boolean;
  readonly characters: CharacterRanges;
}

/** Several in a collection, none in what is not a font. */
export function fontFaces(file: Uint8Array): FontFace[] {
  const view = new DataView(file.buffer, file.byteOffset, file.byteLength);
  const starts = read(() => {
    if (view.getUint32(0) !== COLLECTION) return [0];
    const count = Math.min(view.getUint32(8), MAX_FACES);
    return Array.from({ length: count }, (_, index) => view.getUint32(12 + 4 * index));
  });
  return (starts ?? []).flatMap((start) => read(() => faceAt(file, view, start)) ?? []);
}

/** @returns null if it goes beyond the end of the file */
function read<T>(action: () => T): T | null {
  try {
    return action();
  } catch (error) {
    if (error instanceof RangeError) return null;
    throw error;
  }
}

function faceAt(file: Uint8Array, view: DataView, start: number): FontFace | null {
  const tables = new Map<string, number>();
  for (let index = 0; index < Math.min(view.getUint16(start + 4), MAX_TABLES); index++) {
    const record = start + 12 + 16 * index;
    tables.set(String.fromCharCode(...file.subarray(record, record + 4)), view.getUint32(record + 8));
  }
  const names = tables.get("name");
  // Typst ignores a font without these.
  if (names === undefined || !["head", "hhea", "maxp"].every((tag) => tables.has(tag))) return null;
  const more = { isForText: !tables.has("MATH") && !hasOneWidth(view, tables), characters: charactersOf(view, tables) };
  const exception = exceptionalFamily(findName(file, names, NAME_POST_SCRIPT) ?? "");
  if (exception !== null) return { family: exception, mayBeBold: true, ...more };
  const family = findName(file, names, NAME_FAMILY);
  if (family === null) return null;
  const style = tables.get("OS/2");
  const weight = style === undefined ? 0 : view.getUint16(style + 4);
  return { family: removeStyles(family), mayBeBold: tables.has("fvar") || weight >= MIN_BOLD_WEIGHT, ...more };
}

/** `isFixedPitch` of the table `post`. */
function hasOneWidth(view: DataView, tables: ReadonlyMap<string, number>): boolean {
  const table = tables.get("post");
  return table !== undefined && table + 16 <= view.byteLength && view.getUint32(table + 12) !== 0;
}

/** The text of a name in the table of names, as `FontInfo::from_ttf` of Typst finds it. */
function findName(file: Uint8Array, table: number, name: number): string | null {
  const view = new DataView(file.buffer, file.byteOffset, file.byteLength);
  const texts = table + view.getUint16(table + 4);
  for (let index = 0; index < Math.min(view.getUint16(table + 2), MAX_NAMES); index++) {
    const record = table + 6 + 12 * index;
    if (view.getUint16(record + 6) !== name) continue;
    const at = texts + view.getUint16(record + 10);
    const size = view.getUint16(record + 8);
    const encoding = textEncoding(view.getUint16(record), view.getUint16(record + 2));
    if (encoding === null) continue;
    return size > MAX_NAME_BYTES ? null : new TextDecoder(encoding).decode(file.subarray(at, at + size));
  }
  return null;
}

function textEncoding(platform: number, encoding: number): string | null {
  if (platform === PLATFORM.unicode) return "utf-16be";
  if (platform === PLATFORM.windows) return [0, 1, 10].includes(encoding) ? "utf-16be" : null;
  return platform === PLATFORM.macintosh && encoding === 0 ? "macintosh" : null;
}

/** Fonts whose families Typst knows by a list, `exceptions.rs`, because their name tables name a style as a family. */
const EXCEPTIONS: readonly (readonly [postScriptName: RegExp, family: string])[] = [
  [/^ArchivoNarrow-(?:Regular|Italic|Bold|BoldItalic)$/, "Archivo Narrow"],
  [/^NotoNaskhArabicUISemi-Bold$/, "Noto Naskh Arabic UI"],
  [/^NotoSansSoraSompengSemi-Bold$/, "Noto Sans Sora Sompeng"],
  [/^Noto(Sans|Serif)-Display/, "Noto $1 Display"],
  [/^NewCM(08)-/, "New Computer Modern $1"],
  [/^NewCM10-/, "New Computer Modern"],
  [/^NewCM(Math)-/, "New Computer Modern $1"],
  [/^NewCM(Mono|Sans|Uncial)10-/, "New Computer Modern $1"],
  [/^NewCM(Sans|Uncial)08-/, "New Computer Modern $1 08"],
  [/^NewCMSansMath-/, "New Computer Modern Sans Math"],
  [/^LM(Mono|Roman|Sans)(?:Slant)?(5|6|7|8|9|12|17)-/, "Latin Modern $1 $2"],
  [/^SimSun-ExtB$/, "SimSun-ExtB"],
];

function exceptionalFamily(postScriptName: string): string | null {
  const [pattern, family = ""] = EXCEPTIONS.find(([known]) => known.test(postScriptName)) ?? [];
  return pattern === undefined ? null : (pattern.exec(postScriptName)?.[0].replace(pattern, family) ?? null);
}

const STYLES =
  /(?:normal|italic|oblique|slanted|thin|th|hairline|light|lt|regular|medium|med|md|bold|bd|demi|extb|black|blk|bk|heavy|narrow|condensed|cond|cn|cd|compressed|expanded|exp|vf|var|variable)+$/;
const STYLE_MODIFIER = /[ _-](?:extra|ext|ex|x|semi|sem|sm|demi|dem|ultra)$/;

/** A family without the styles at its end, as in `typographic_family` of Typst: "Inter Semi Bold Italic" is "Inter". */
function removeStyles(name: string): string {
  const family = name.trim().replace(/^\.+/, "");
  let rest = family.replace(/[A-Z]/g, (letter) => letter.toLowerCase());
  for (let length = Number.POSITIVE_INFINITY; rest.length < length; ) {
    length = rest.length;
    const stem = rest.replace(STYLES, "");
    if (stem === rest) break;
    // Without a separator before it, a style belongs to a word: "Normandy" stays.
    if (/[ _-]$/.test(stem)) rest = stem.slice(0, -1);
    const plain = /[ _-]$/.test(stem) ? rest : stem;
    if (STYLE_MODIFIER.test(plain)) rest = plain.replace(STYLE_MODIFIER, "");
  }
  return family.slice(0, rest.length);
}
