/**
 * Fonts for tests: Liberation Sans, which Typst does not bring itself, from a package that the tests use anyway, and
 * fonts and collections made of it table by table.
 */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

/** A folder with the faces of Liberation Sans. */
export const LIBERATION_FOLDER = fileURLToPath(
  new URL("../../node_modules/pdfjs-dist/standard_fonts", import.meta.url),
);
export const LIBERATION_FAMILY = "Liberation Sans";

export function liberation(style: "Regular" | "Bold" | "Italic"): Promise<Buffer> {
  return readFile(join(LIBERATION_FOLDER, `LiberationSans-${style}.ttf`));
}

/** The tables of a font by their tags, in its order. */
export type FontTables = ReadonlyMap<string, Buffer>;

const FONT_HEADER_BYTES = 12;
const TABLE_RECORD_BYTES = 16;
const TRUETYPE_VERSION = 0x00010000;

export function tablesOf(font: Buffer): FontTables {
  const count = font.readUInt16BE(4);
  const records = Array.from({ length: count }, (_, index) => FONT_HEADER_BYTES + index * TABLE_RECORD_BYTES);
  return new Map(
    records.map((at) => {
      const offset = font.readUInt32BE(at + 8);
      const length = font.readUInt32BE(at + 12);
      return [font.toString("latin1", at, at + 4), font.subarray(offset, offset + length)];
    }),
  );
}

export function withTables(font: Buffer, replacements: Readonly<Record<string, Buffer>>): Buffer {
  return fontOf(new Map([...tablesOf(font), ...Object.entries(replacements)]));
}

export function collectionOf(fonts: readonly Buffer[]): Buffer {
  let end = 12 + 4 * fonts.length;
  const offsets: number[] = [];
  const bodies = fonts.map((font) => {
    const body = fontOf(tablesOf(font), end);
    offsets.push(end);
    end += body.length;
    return body;
  });
  return Buffer.concat([collectionHeader(offsets), ...bodies]);
}

/** The header of a collection with fonts at these offsets. */
export function collectionHeader(offsets: readonly number[]): Buffer {
  const header = Buffer.alloc(12 + 4 * offsets.length);
  header.write("ttcf", "latin1");
  header.writeUInt32BE(TRUETYPE_VERSION, 4);
  header.writeUInt32BE(offsets.length, 8);
  for (const [index, offset] of offsets.entries()) header.writeUInt32BE(offset, 12 + 4 * index);
  return header;
}

/**
 * A font of these tables, written for an offset in a file. They are not checked, so they may lie. Checksums are left out,
 * because readers ignore them.
 */
export function fontOf(tables: FontTables, fileOffset = 0): Buffer {
  const entries = [...tables].toSorted(([left], [right]) => (left < right ? -1 : 1));
  const header = Buffer.alloc(FONT_HEADER_BYTES + entries.length * TABLE_RECORD_BYTES);
  header.writeUInt32BE(TRUETYPE_VERSION, 0);
  header.writeUInt16BE(entries.length, 4);
  let end = header.length;
  const bodies = entries.map(([tag, table], index) => {
    const at = FONT_HEADER_BYTES + index * TABLE_RECORD_BYTES;
    header.write(tag, at, "latin1");
    header.writeUInt32BE(fileOffset + end, at + 8);
    header.writeUInt32BE(table.length, at + 12);
    const padded = Buffer.alloc(Math.ceil(table.length / 4) * 4);
    table.copy(padded);
    end += padded.length;
    return padded;
  });
  return Buffer.concat([header, ...bodies]);
}

/** A table of names that gives a font its family, in the style Regular. @param more further names by their ids; null leaves one out */
export function nameTable(family: string, more: Readonly<Record<number, string | null>> = {}): Buffer {
  const usual = { 1: family, 2: "Regular", 4: family, 6: family.replaceAll(" ", "") };
  const names = Object.entries({ ...usual, ...more }).flatMap(([id, text]) =>
    text === null ? [] : [[Number(id), Buffer.from(text, "utf16le").swap16()] as const],
  );
  const header = Buffer.alloc(6 + 12 * names.length);
  header.writeUInt16BE(names.length, 2);
  header.writeUInt16BE(header.length, 4);
  let offset = 0;
  for (const [index, [id, text]] of names.entries()) {
    // Windows, Unicode, English (United States).
    for (const [place, value] of [3, 1, 0x409, id, text.length, offset].entries()) {
      header.writeUInt16BE(value, 6 + 12 * index + 2 * place);
    }
    offset += text.length;
  }
  return Buffer.concat([header, ...names.map(([, text]) => text)]);
}

/** A table of axes, `fvar`: each with its least, usual and greatest value. */
export function axisTable(axes: Readonly<Record<string, readonly [min: number, usual: number, max: number]>>): Buffer {
  const entries = Object.entries(axes);
  const table = Buffer.alloc(16 + 20 * entries.length);
  for (const [place, value] of [1, 0, 16, 2, entries.length, 20, 0, 4].entries()) table.writeUInt16BE(value, 2 * place);
  for (const [index, [tag, values]] of entries.entries()) {
    table.write(tag, 16 + 20 * index, "latin1");
    for (const [place, value] of values.entries()) table.writeInt32BE(value * 0x10000, 20 + 20 * index + 4 * place);
  }
  return table;
}

/** A font with other values in its table `OS/2`. */
export function withStyle(
  font: Buffer,
  values: { readonly weight?: number; readonly width?: number; readonly type?: number; readonly selection?: number },
): Buffer {
  const table = Buffer.from(tablesOf(font).get("OS/2") ?? []);
  const places = [
    [4, values.weight],
    [6, values.width],
    [8, values.type],
    [62, values.selection],
  ] as const;
  for (const [at, value] of places) if (value !== undefined) table.writeUInt16BE(value, at);
  return withTables(font, { "OS/2": table });
}

/** A table of characters, `cmap`, with these ranges of code points. */
export function characterTable(...ranges: readonly (readonly [first: number, last: number])[]): Buffer {
  const HEADER_BYTES = 12;
  const table = Buffer.alloc(HEADER_BYTES + 16 + 12 * ranges.length);
  // One subtable, for Windows, of all of Unicode, in format 12.
  for (const [place, value] of [0, 1, 3, 10].entries()) table.writeUInt16BE(value, 2 * place);
  table.writeUInt32BE(HEADER_BYTES, 8);
  table.writeUInt16BE(12, HEADER_BYTES);
  const numbers = [
    table.length - HEADER_BYTES,
    0,
    ranges.length,
    ...ranges.flatMap(([first, last]) => [first, last, 1]),
  ];
  for (const [index, value] of numbers.entries()) table.writeUInt32BE(value, HEADER_BYTES + 4 + 4 * index);
  return table;
}

/** The same with one subtable, which the caller has made. */
export function otherCharacterTable(platform: number, encoding: number, subtable: Buffer): Buffer {
  const header = Buffer.alloc(12);
  for (const [place, value] of [0, 1, platform, encoding].entries()) header.writeUInt16BE(value, 2 * place);
  header.writeUInt32BE(header.length, 8);
  return Buffer.concat([header, subtable]);
}

/** Tables that colour a glyph red: Typst then draws it instead of writing text in the font. */
export function colourTables(glyph: number): Readonly<Record<string, Buffer>> {
  const words = (...values: readonly number[]) => {
    const table = Buffer.alloc(2 * values.length);
    for (const [index, value] of values.entries()) table.writeUInt16BE(value, 2 * index);
    return table;
  };
  // One glyph of one layer, which is itself in colour 0. Offsets have two words.
  const COLR = words(0, 1, 0, 14, 0, 20, 1, glyph, 0, 1, glyph, 0);
  const CPAL = words(0, 1, 1, 1, 0, 14, 0, 0x0000, 0xffff);
  return { COLR, CPAL };
}

/** Liberation Sans under another name and scaled to twice its size, which distinguishes it from every other font. */
export async function doubledFont(family: string): Promise<Buffer> {
  const regular = await liberation("Regular");
  const head = Buffer.from(tablesOf(regular).get("head") ?? []);
  const UNITS_PER_EM = 18;
  head.writeUInt16BE(head.readUInt16BE(UNITS_PER_EM) / 2, UNITS_PER_EM);
  return withTables(regular, { head, name: nameTable(family) });
}

/** The names of the fonts in a PDF, without the tags of subsets and the encodings of composite fonts. */
export function fontNamesOf(pdf: Uint8Array): Set<string> {
  const text = Buffer.from(pdf).toString("latin1");
  const names = [...text.matchAll(/\/BaseFont\s*\/(?:[A-Z]{6}\+)?([^\s/>]+)/g)].map(([, name = ""]) => name);
  return new Set(names.map((name) => name.replace(/-Identity-H$/, "")));
}
