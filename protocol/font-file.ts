/**
 * What a font file says about itself: the family by which Typst 0.15 knows each of its fonts, and the characters that it has.
 * The backend reads the operator's fonts with it, clients read those of a request.
 *
 * A file may be anything: nothing is read beyond its end, and each table is read once, so the work is limited by its size.
 */
import { type CodePointRange, type CodePoints, codePointsOf, MAX_CODE_POINT } from "./code-points.ts";

export interface FontFace {
  /** As Typst derives it from the name table; null if there is none, which makes Typst leave the font out. */
  readonly family: string | null;
  /** Null if its table of characters is of a kind that is not read here. */
  readonly codePoints: CodePoints | null;
}

/** A collection of the whole of Noto CJK has 45. */
const MAX_FACES = 64;
/** In UTF-16. Longer ones name no family: the styles at their end would take time to find. */
const MAX_NAME_BYTES = 1024;
const COLLECTION = 0x74746366; // ttcf

const NAME_FAMILY = 1;
const NAME_POST_SCRIPT = 6;
const PLATFORM = { unicode: 0, macintosh: 1, windows: 3 } as const;

/** The tables of characters that Typst's shaper uses, best first: platform and encoding. */
const CHARACTER_TABLES: readonly (readonly [platform: number, encoding: number])[] = [
  [PLATFORM.windows, 10],
  [PLATFORM.unicode, 6],
  [PLATFORM.unicode, 4],
  [PLATFORM.windows, 1],
  [PLATFORM.unicode, 3],
  [PLATFORM.unicode, 2],
  [PLATFORM.unicode, 1],
  [PLATFORM.unicode, 0],
];

/** The fonts in a file: several in a collection, none in what is not a font. */
export function fontFaces(file: Uint8Array): FontFace[] {
  const view = new DataView(file.buffer, file.byteOffset, file.byteLength);
  const starts = read(() => {
    if (view.getUint32(0) !== COLLECTION) return [0];
    const count = Math.min(view.getUint32(8), MAX_FACES);
    return Array.from({ length: count }, (_, index) => view.getUint32(12 + 4 * index));
  });
  return (starts ?? []).flatMap((start) => read(() => fontFace(file, view, start)) ?? []);
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

function fontFace(file: Uint8Array, view: DataView, start: number): FontFace[] {
  const tables = new Map<string, number>();
  for (let index = 0; index < view.getUint16(start + 4); index++) {
    const record = start + 12 + 16 * index;
    tables.set(String.fromCharCode(...file.subarray(record, record + 4)), view.getUint32(record + 8));
  }
  const [names, characters] = [tables.get("name"), tables.get("cmap")];
  // What Typst cannot do without.
  if (!["head", "hhea", "maxp"].every((tag) => tables.has(tag))) return [];
  const family = names === undefined ? null : read(() => familyOf(file, view, names));
  const codePoints = characters === undefined ? [] : read(() => characterTable(view, characters));
  return [{ family, codePoints }];
}

/** The family as in `FontInfo::from_ttf` of Typst. */
function familyOf(file: Uint8Array, view: DataView, table: number): string | null {
  const texts = table + view.getUint16(table + 4);
  const find = (name: number): string | null => {
    for (let index = 0; index < view.getUint16(table + 2); index++) {
      const record = table + 6 + 12 * index;
      if (view.getUint16(record + 6) !== name) continue;
      const at = texts + view.getUint16(record + 10);
      const size = view.getUint16(record + 8);
      const encoding = textEncoding(view.getUint16(record), view.getUint16(record + 2));
      if (encoding === null) continue;
      return size > MAX_NAME_BYTES ? null : new TextDecoder(encoding).decode(file.subarray(at, at + size));
    }
    return null;
  };
  const exception = exceptionalFamily(find(NAME_POST_SCRIPT) ?? "");
  if (exception !== null) return exception;
  const family = find(NAME_FAMILY);
  return family === null ? null : withoutStyles(family);
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
  if (pattern === undefined) return null;
  const [, ...groups] = pattern.exec(postScriptName) ?? [];
  return family.replace(/\$(\d)/g, (_, group: string) => groups[Number(group) - 1] ?? "");
}

const STYLES =
  /(?:normal|italic|oblique|slanted|thin|th|hairline|light|lt|regular|medium|med|md|bold|bd|demi|extb|black|blk|bk|heavy|narrow|condensed|cond|cn|cd|compressed|expanded|exp|vf|var|variable)+$/;
const STYLE_MODIFIER = /[ _-](?:extra|ext|ex|x|semi|sem|sm|demi|dem|ultra)$/;

/** A family without the styles at its end, as in `typographic_family` of Typst: "Inter Semi Bold Italic" is "Inter". */
function withoutStyles(name: string): string {
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

/** @returns null if none of its tables is of a known kind */
function characterTable(view: DataView, table: number): CodePoints | null {
  const offsets = new Map<string, number>();
  for (let index = 0; index < view.getUint16(table + 2); index++) {
    const record = table + 4 + 8 * index;
    const key = `${view.getUint16(record)} ${view.getUint16(record + 2)}`;
    if (!offsets.has(key)) offsets.set(key, table + view.getUint32(record + 4));
  }
  for (const [platform, encoding] of CHARACTER_TABLES) {
    const at = offsets.get(`${platform} ${encoding}`);
    if (at === undefined) continue;
    const ranges = rangesOf(view, at);
    return ranges === null ? null : codePointsOf(ranges);
  }
  // Only a font of symbols, which Typst finds by its name alone.
  return [];
}

function rangesOf(view: DataView, at: number): Iterable<CodePointRange> | null {
  switch (view.getUint16(at)) {
    case 4:
      return [...segments(view, at)];
    case 6:
      return [...glyphList(view, view.getUint16(at + 6), view.getUint16(at + 8), at + 10)];
    case 10:
      return [...glyphList(view, view.getUint32(at + 12), view.getUint32(at + 16), at + 20)];
    case 12:
      return [...groups(view, at)];
    default:
      return null;
  }
}

/** Format 4: segments of the first 65,536 characters, some with a list of glyphs. */
function* segments(view: DataView, at: number): Iterable<CodePointRange> {
  const bytes = view.getUint16(at + 6);
  let next = 0;
  for (let segment = 0; segment < bytes; segment += 2) {
    const last = view.getUint16(at + 14 + segment);
    const first = view.getUint16(at + 16 + bytes + segment);
    const delta = view.getUint16(at + 16 + 2 * bytes + segment);
    const offsetAt = at + 16 + 3 * bytes + segment;
    const offset = view.getUint16(offsetAt);
    // The last segment is always that of U+FFFF, which is no character. Segments out of order could cost any time.
    if (first === 0xffff || offset === 0xffff || first < next || last < first) continue;
    next = last + 1;
    for (let codePoint = first; codePoint <= last; codePoint++) {
      const listed = offset === 0 ? codePoint : view.getUint16(offsetAt + offset + 2 * (codePoint - first));
      const isListed = offset === 0 || listed !== 0;
      if (isListed && ((listed + delta) & 0xffff) !== 0) yield [codePoint, codePoint];
    }
  }
}

/** Formats 6 and 10: one glyph for each character from the first on. */
function* glyphList(view: DataView, first: number, count: number, at: number): Iterable<CodePointRange> {
  for (let index = 0; index < count && first + index <= MAX_CODE_POINT; index++) {
    if (view.getUint16(at + 2 * index) !== 0) yield [first + index, first + index];
  }
}

/** Format 12: groups of characters with consecutive glyphs. */
function* groups(view: DataView, at: number): Iterable<CodePointRange> {
  const count = view.getUint32(at + 12);
  for (let index = 0; index < count; index++) {
    const group = at + 16 + 12 * index;
    const [first, last, glyph] = [view.getUint32(group), view.getUint32(group + 4), view.getUint32(group + 8)];
    // The glyph 0 is the box for what is missing.
    const from = glyph === 0 ? first + 1 : first;
    if (from <= last && last <= MAX_CODE_POINT) yield [from, last];
  }
}
