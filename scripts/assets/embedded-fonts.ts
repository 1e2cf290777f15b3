/** The fonts that are compiled into Typst, as files: the playground's compiler has none, and Typst writes none. */
import { readFile } from "node:fs/promises";

/** The first bytes of a font with PostScript outlines, and of one with TrueType outlines. */
const SIGNATURES = [Buffer.from("OTTO"), Buffer.from([0, 1, 0, 0])];
const HEADER_BYTES = 12;
const RECORD_BYTES = 16;
/** OpenType has some fifty kinds of tables, and each font at least nine of them. */
const TABLES = { min: 9, max: 64 };
const NAME_RECORD_BYTES = 12;
const NAME = { copyright: 0, postScript: 6, licence: 13, licenceUrl: 14 } as const;
const MACINTOSH = 1;

export async function readEmbeddedFonts(program: string): Promise<ReadonlyMap<string, Buffer>> {
  const bytes = await readFile(program);
  const fonts = new Map<string, Buffer>();
  for (const signature of SIGNATURES) {
    for (let at = bytes.indexOf(signature); at !== -1; at = bytes.indexOf(signature, at + 1)) {
      const font = fontAt(bytes, at);
      if (font !== null) fonts.set(...font);
    }
  }
  return fonts;
}

/** The font that begins at an offset, with its name; null if none does. */
function fontAt(bytes: Buffer, start: number): [name: string, font: Buffer] | null {
  const count = bytes.readUInt16BE(start + 4);
  // OpenType, "Table directory": sixteen times the largest power of two that is not above the number of tables.
  const searchRange = bytes.readUInt16BE(start + 6);
  if (count < TABLES.min || count > TABLES.max || searchRange !== 16 * 2 ** Math.floor(Math.log2(count))) return null;
  let length = 0;
  let names: number | undefined;
  for (let index = 0; index < count; index++) {
    const record = start + HEADER_BYTES + RECORD_BYTES * index;
    const tag = bytes.toString("latin1", record, record + 4);
    if (!/^[ -~]{4}$/.test(tag)) return null;
    const offset = bytes.readUInt32BE(record + 8);
    length = Math.max(length, offset + bytes.readUInt32BE(record + 12));
    if (tag === "name") names = offset;
  }
  if (names === undefined || start + length > bytes.length) return null;
  const font = bytes.subarray(start, start + length);
  const name = nameOf(font, names, NAME.postScript);
  return name === null ? null : [name, font];
}

/** What a font says of its licence itself: whose it is, its licence, and where that is. */
export function licenceOfFont(font: Buffer): string {
  const tables = Array.from({ length: font.readUInt16BE(4) }, (_, index) => HEADER_BYTES + RECORD_BYTES * index);
  const record = tables.find((at) => font.toString("latin1", at, at + 4) === "name");
  if (record === undefined) throw new Error("a font has no names");
  const ids = [NAME.copyright, NAME.licence, NAME.licenceUrl];
  const text = ids.map((id) => nameOf(font, font.readUInt32BE(record + 8), id) ?? "").join("\n\n");
  if (!/licen[cs]e/i.test(text)) throw new Error("a font has no licence");
  return text;
}

function nameOf(font: Buffer, table: number, id: number): string | null {
  const texts = table + font.readUInt16BE(table + 4);
  for (let index = 0; index < font.readUInt16BE(table + 2); index++) {
    const record = table + 6 + NAME_RECORD_BYTES * index;
    if (font.readUInt16BE(record + 6) !== id) continue;
    const start = texts + font.readUInt16BE(record + 10);
    const text = font.subarray(start, start + font.readUInt16BE(record + 8));
    if (font.readUInt16BE(record) === MACINTOSH) return text.toString("latin1");
    return Buffer.from(text).swap16().toString("utf16le");
  }
  return null;
}
