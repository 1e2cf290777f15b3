/** Fonts that lie, and fonts that are too much: made of a sound one, table by table. */
import { collectionHeader, fontAt, fontOf, tablesOf, withTables } from "../../support/fonts.ts";

/**
 * What the largest unsigned numbers of 16 and 32 bits are to a parser: a count, a length or an offset without an end.
 */
const MAX_UINT16 = 0xffff;
const MAX_UINT32 = 0xffffffff;

const TABLE_RECORDS_START = 12;
const TABLE_RECORD_BYTES = 16;

/** The font truncated at `count` lengths, the first within its header, then at ever wider intervals. */
export function truncations(font: Buffer, count: number): Buffer[] {
  return Array.from({ length: count }, (_, index) => font.subarray(0, Math.floor(font.length ** (index / count))));
}

/** The font with a number of every table's record changed: at 8 its offset, at 12 its length. */
export function withTableRecords(font: Buffer, place: 8 | 12, value: number): Buffer[] {
  return [...tablesOf(font).keys()].map((_, index) => {
    const copy = Buffer.from(font);
    copy.writeUInt32BE(value, TABLE_RECORDS_START + index * TABLE_RECORD_BYTES + place);
    return copy;
  });
}

/** The font with each of its tables empty or nothing but 0xff. */
export function withBrokenTables(font: Buffer): Buffer[] {
  const tables = [...tablesOf(font)];
  return tables.flatMap(([tag, table]) => [
    withTables(font, { [tag]: Buffer.alloc(0) }),
    withTables(font, { [tag]: Buffer.alloc(table.length, 0xff) }),
  ]);
}

/** The font in few bytes: with the tables that it needs to be one, and without an outline. */
export function withoutOutlines(font: Buffer): Buffer {
  const NEEDED = new Set(["cmap", "head", "hhea", "hmtx", "maxp", "name", "OS/2"]);
  return fontOf(new Map([...tablesOf(font)].filter(([tag]) => NEEDED.has(tag))));
}

/** The font with a count of 65535 tables, most of them not there. */
export function withMostTables(font: Buffer): Buffer {
  const copy = Buffer.from(font);
  copy.writeUInt16BE(MAX_UINT16, 4);
  return copy;
}

/**
 * The font with many names for its family, each of 64 KiB and all in the same bytes: 65535 of them are four gigabytes.
 *
 * @param claimed how many the table says that there are.
 * @param count how many there are.
 */
export function withLongNames(font: Buffer, claimed: number, count: number): Buffer {
  const FAMILY = 1;
  const header = words(0, claimed, 6);
  const records = Array.from({ length: count }, () => words(3, 1, 0x409, FAMILY, MAX_UINT16, 0));
  // The texts begin at the records and go on behind them.
  return withTables(font, { name: Buffer.concat([header, ...records, Buffer.alloc(MAX_UINT16, 0x41)]) });
}

/** A collection that claims 2^32 - 1 fonts and holds none. */
export function boundlessCollection(): Buffer {
  const header = collectionHeader([MAX_UINT32]);
  header.writeUInt32BE(MAX_UINT32, 8);
  return header;
}

/** A collection that holds one font `count` times. */
export function repeatedCollection(font: Buffer, count: number): Buffer {
  const start = 12 + 4 * count;
  return Buffer.concat([collectionHeader(new Array<number>(count).fill(start)), fontAt(tablesOf(font), start)]);
}

/** A collection that holds itself. */
export function recursiveCollection(): Buffer {
  return collectionHeader([0, 0, 0]);
}

/**
 * Chains of glyphs in which each is the next one twice: the first has 2^(chainLength - 1) times the outline of the
 * last.
 */
export function withGlyphsThatDouble(font: Buffer, chainLength: number): Buffer {
  const tables = tablesOf(font);
  const head = Buffer.from(tables.get("head") ?? []);
  const glyphCount = tables.get("maxp")?.readUInt16BE(4) ?? 0;
  const glyphs = Array.from({ length: glyphCount }, (_, glyph) =>
    glyph % chainLength === chainLength - 1 ? triangle() : doubleOf(glyph + 1),
  );
  const LONG_OFFSETS = 1;
  head.writeUInt16BE(LONG_OFFSETS, 50);
  const loca = Buffer.alloc(4 * (glyphCount + 1));
  let end = 0;
  for (const [index, glyph] of glyphs.entries()) {
    loca.writeUInt32BE(end, 4 * index);
    end += glyph.length;
  }
  loca.writeUInt32BE(end, 4 * glyphCount);
  return withTables(font, { head, loca, glyf: Buffer.concat(glyphs) });
}

const glyphHeader = (contours: number) => [contours, 0, 0, 1000, 1000];

function words(...values: readonly number[]): Buffer {
  const bytes = Buffer.alloc(2 * values.length);
  for (const [index, value] of values.entries()) bytes.writeUInt16BE(value & MAX_UINT16, 2 * index);
  return bytes;
}

/** A glyph made of another one, and of the same once more beside it. */
function doubleOf(glyph: number): Buffer {
  const [WORDS, OFFSETS, MORE] = [0x1, 0x2, 0x20];
  return words(...glyphHeader(-1), WORDS | OFFSETS | MORE, glyph, 0, 0, WORDS | OFFSETS, glyph, 1, 1);
}

function triangle(): Buffer {
  const [LAST_POINT, NO_INSTRUCTIONS, ON_CURVE] = [2, 0, 0x01];
  const flags = Buffer.from([ON_CURVE, ON_CURVE, ON_CURVE, 0]);
  // The flags are three bytes; the coordinates follow at once.
  const outline = Buffer.concat([flags.subarray(0, 3), words(0, 1000, 0), words(0, 0, 1000), Buffer.alloc(1)]);
  return Buffer.concat([words(...glyphHeader(1), LAST_POINT, NO_INSTRUCTIONS), outline]);
}
