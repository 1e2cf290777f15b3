/**
 * The fonts of a file as Typst 0.15 sees them: family, style, weight, width and characters, or why it does not see one. A
 * file may be anything: nothing is read beyond its end, and no more tables, names and characters than real fonts have.
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
/** TrueType, that of Apple, and CFF. */
const VERSIONS: ReadonlySet<number> = new Set([0x00010000, 0x74727565, 0x4f54544f]);
/** Typst takes as many. */
const MAX_AXES = 64;
const FVAR_VERSION = 0x00010000;
const FIXED_ONE = 0x10000;
/** The size of the table `OS/2` in its oldest version. */
const OS2_BYTES = 78;
const NAME = { family: 1, full: 4, postScript: 6 } as const;
const PLATFORM = { unicode: 0, macintosh: 1, windows: 3 } as const;

export type FontStyle = "normal" | "italic" | "oblique";

/** A variant as `/capabilities.json` publishes it. Where min and max differ, the font has an axis between them. */
export interface FontVariant {
  readonly style: FontStyle;
  readonly weight: { readonly min: number; readonly max: number };
  readonly stretch_percent: { readonly min: number; readonly max: number };
}

export interface FontFace {
  readonly family: string;
  /** One variant for each style of the font; empty if Typst knows the font by a list. */
  readonly variants: readonly FontVariant[];
  /** Of fonts that fit equally well, Typst prefers a variable one. */
  readonly isVariable: boolean;
  /** Whether it is made for text: not for formulas, and not of one width as for code. */
  readonly isForText: boolean;
  readonly characters: CharacterRanges;
}

/** Why Typst does not see a font, or not all of it. */
export type FontObstacle = "cut off" | "no tables" | "no PostScript name" | "no family";

export interface FontReading {
  /** Null if it names none. */
  readonly family: string | null;
  /** Null if Typst does not see it. */
  readonly face: FontFace | null;
  readonly obstacle: FontObstacle | null;
}

/** Several in a collection, none in what is not a font. */
export function fontFaces(file: Uint8Array): FontFace[] {
  return readFonts(file).flatMap(({ face }) => face ?? []);
}

/** The fonts of a file, also those that Typst does not see; none of what does not begin as a font. */
export function readFonts(file: Uint8Array): FontReading[] {
  const view = new DataView(file.buffer, file.byteOffset, file.byteLength);
  const starts = read(() => {
    if (view.getUint32(0) !== COLLECTION) return [0];
    const count = Math.min(view.getUint32(8), MAX_FACES);
    return Array.from({ length: count }, (_, index) => view.getUint32(12 + 4 * index));
  });
  return (starts ?? []).flatMap((start) => read(() => readFont(file, view, start)) ?? []);
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

/** Offsets of tables by their tags. */
type Tables = ReadonlyMap<string, number>;

/** Reads a font as `fontdb` and then `FontInfo::from_ttf` of Typst do. */
function readFont(file: Uint8Array, view: DataView, start: number): FontReading | null {
  if (!VERSIONS.has(view.getUint32(start))) return null;
  const tables = new Map<string, number>();
  let isCutOff = false;
  for (let index = 0; index < Math.min(view.getUint16(start + 4), MAX_TABLES); index++) {
    const record = start + 12 + 16 * index;
    const [offset, length] = [view.getUint32(record + 8), view.getUint32(record + 12)];
    const tag = String.fromCharCode(...file.subarray(record, record + 4));
    if (offset + length > file.length) isCutOff = true;
    else if (tag !== "OS/2" || length >= OS2_BYTES) tables.set(tag, offset);
  }
  const names = tables.get("name");
  const fail = (obstacle: FontObstacle, family: string | null = null): FontReading => {
    return { family, face: null, obstacle: isCutOff ? "cut off" : obstacle };
  };
  if (names === undefined || !["head", "hhea", "maxp"].every((tag) => tables.has(tag))) return fail("no tables");
  const postScriptName = findName(file, names, NAME.postScript);
  const exception = exceptionalFamily(postScriptName ?? "");
  const ownFamily = findName(file, names, NAME.family);
  const family = exception ?? (ownFamily === null ? null : removeStyles(ownFamily));
  if (family === null) return fail("no family");
  if (postScriptName === null) return fail("no PostScript name", family);
  const axes = read(() => readAxes(view, tables)) ?? new Map<string, Range>();
  const face = {
    family,
    variants: exception === null ? readVariants(view, tables, axes, findName(file, names, NAME.full) ?? "") : [],
    isVariable: axes.size > 0,
    isForText: !tables.has("MATH") && !hasOneWidth(view, tables),
    characters: charactersOf(view, tables),
  };
  return { family, face, obstacle: isCutOff ? "cut off" : null };
}

/** `isFixedPitch` of the table `post`. */
function hasOneWidth(view: DataView, tables: Tables): boolean {
  const table = tables.get("post");
  return table !== undefined && table + 16 <= view.byteLength && view.getUint32(table + 12) !== 0;
}

type Range = FontVariant["weight"];

/** The ranges of a variable font's axes, by their tags. */
function readAxes(view: DataView, tables: Tables): ReadonlyMap<string, Range> {
  const table = tables.get("fvar");
  const axes = new Map<string, Range>();
  if (table === undefined || view.getUint32(table) !== FVAR_VERSION) return axes;
  for (let index = 0; index < Math.min(view.getUint16(table + 8), MAX_AXES); index++) {
    const axis = table + view.getUint16(table + 4) + 20 * index;
    const tag = String.fromCharCode(...[0, 1, 2, 3].map((place) => view.getUint8(axis + place)));
    const [min = 0, usual = 0, max = 0] = [4, 8, 12].map((place) => view.getInt32(axis + place) / FIXED_ONE);
    axes.set(tag, { min: Math.min(min, usual), max: Math.max(max, usual) });
  }
  return axes;
}

/** The widths of the classes 1 to 9 in the table `OS/2`. */
const STRETCHES = [50, 62.5, 75, 87.5, 100, 112.5, 125, 150, 200];
const USUAL = { weight: 400, stretch: 100 } as const;

function readVariants(view: DataView, tables: Tables, axes: ReadonlyMap<string, Range>, fullName: string) {
  const table = tables.get("OS/2");
  const field = (offset: number) => (table === undefined ? null : view.getUint16(table + offset));
  const selection = field(62) ?? 0;
  const isOblique = (selection & 0x200) !== 0 && (field(0) ?? 0) >= 4;
  const own: FontStyle =
    (selection & 1) !== 0 || /italic/i.test(fullName)
      ? "italic"
      : isOblique || /oblique|slanted/i.test(fullName)
        ? "oblique"
        : "normal";
  const styles = new Set<FontStyle>([own]);
  if (axes.has("ital")) styles.add("italic");
  if (axes.has("slnt")) styles.add("oblique");
  const stretch = STRETCHES[(field(6) ?? 0) - 1] ?? USUAL.stretch;
  const range = (axis: string, value: number, limits: Range) => {
    const { min, max } = axes.get(axis) ?? { min: value, max: value };
    const clamp = (number: number) => Math.min(Math.max(number, limits.min), limits.max);
    return { min: clamp(min), max: clamp(max) };
  };
  const weight = range("wght", field(4) ?? USUAL.weight, { min: 100, max: 900 });
  const stretch_percent = range("wdth", stretch, { min: 50, max: 200 });
  return [...styles].map((style): FontVariant => ({ style, weight, stretch_percent }));
}

/** The text of a name in the table of names, as Typst finds it: the first one that it can decode. */
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
  if (platform === PLATFORM.windows) return [0, 1].includes(encoding) ? "utf-16be" : null;
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
