/**
 * Reads as much of a PDF as an e-invoice needs, and appends changed objects to it (ISO 32000-1, 7.5.6). The bytes
 * before them stay unchanged.
 *
 * It reads files with cross-reference tables, as Typst writes them, and refuses what it does not support:
 * cross-reference streams, encryption, filters other than Flate. Nothing is repaired.
 */
import { Unzlib } from "fflate";
import {
  type PdfArray,
  PdfCursor,
  type PdfDictionary,
  PdfName,
  PdfReference,
  PdfSyntaxError,
  type PdfValue,
  writeValue,
} from "./pdf-syntax.ts";

/** The most updates that a file may have. */
const MAX_UPDATES = 32;
/** For all tables together. A document with an invoice has far fewer. */
const MAX_OBJECTS = 1_000_000;
/** Far more than a dictionary or array needs here: the contents of pages are in streams. */
const MAX_OBJECT_BYTES = 1024 ** 2;
/** For all objects, each counted as often as it is read: a file can refer to a large one a million times. */
const MAX_READ_BYTES = 32 * 1024 ** 2;
/** `%%EOF` and the offset before it are in the last kilobyte. */
const TAIL_BYTES = 1024;
/** Chunks are small, because Flate expands them up to a thousand times before the bytes can be counted. */
const CHUNK_BYTES = 16_384;

export interface PdfStream {
  readonly dictionary: PdfDictionary;
  readonly data: Uint8Array;
}

export interface ChangedStream {
  readonly reference: PdfReference;
  readonly dictionary: PdfDictionary;
  readonly data: Uint8Array;
}

export class PdfFile {
  readonly #bytes: Uint8Array;
  /** Where each object begins, by its number. */
  readonly #offsets: ReadonlyMap<number, { readonly offset: number; readonly generation: number }>;
  readonly #startOfTable: number;
  #readBytes = 0;
  readonly trailer: PdfDictionary;

  /** @throws PdfSyntaxError */
  constructor(bytes: Uint8Array) {
    this.#bytes = bytes;
    if (String.fromCharCode(...bytes.subarray(0, 5)) !== "%PDF-") refuse("The file is not a PDF.");
    this.#startOfTable = startOfTable(bytes);
    const { trailer, offsets } = readTables(bytes, this.#startOfTable);
    if (trailer.has("Encrypt")) throw new PdfSyntaxError("The file is encrypted.");
    this.trailer = trailer;
    this.#offsets = offsets;
  }

  get catalog(): PdfDictionary {
    return this.dictionary(this.trailer.get("Root")) ?? refuse("The file has no catalog.");
  }

  dictionary(value: PdfValue | undefined): PdfDictionary | null {
    const resolved = this.resolve(value);
    return resolved instanceof Map ? resolved : null;
  }

  array(value: PdfValue | undefined): PdfArray | null {
    const resolved = this.resolve(value);
    return Array.isArray(resolved) ? resolved : null;
  }

  /** Follows a reference; any other value is returned. A reference to nothing is null. */
  resolve(value: PdfValue | undefined): PdfValue {
    if (!(value instanceof PdfReference)) return value ?? null;
    const cursor = this.#open(value);
    const resolved = cursor === null ? null : this.#valueAt(cursor);
    // An object must not be only a reference, so references cannot form chains or circles.
    return resolved instanceof PdfReference ? refuse("An object is only a reference.") : resolved;
  }

  /**
   * The decoded content of a stream; null if the value does not refer to a stream.
   *
   * @throws PdfSyntaxError if it is larger than `maxBytes`, or encoded by anything other than Flate
   */
  stream(value: PdfValue | undefined, maxBytes: number): PdfStream | null {
    const cursor = value instanceof PdfReference ? this.#open(value) : null;
    if (cursor === null) return null;
    const dictionary = this.#valueAt(cursor);
    if (!(dictionary instanceof Map) || !cursor.take("stream")) return null;
    const length = this.resolve(dictionary.get("Length"));
    if (typeof length !== "number" || !Number.isSafeInteger(length) || length < 0) refuse("A stream has no length.");
    if (this.#bytes[cursor.offset] === 0x0d) cursor.offset++;
    if (this.#bytes[cursor.offset] !== 0x0a) refuse("A stream does not begin on a line of its own.");
    const start = cursor.offset + 1;
    const raw = this.#bytes.subarray(start, start + length);
    new PdfCursor(this.#bytes, start + length).expect("endstream");
    return { dictionary, data: decodeStream(raw, this.#filterOf(dictionary), maxBytes) };
  }

  #filterOf(dictionary: PdfDictionary): string | null {
    const filter = this.resolve(dictionary.get("Filter"));
    if (this.resolve(dictionary.get("DecodeParms")) !== null) refuse("A stream is encoded with parameters.");
    const [only = null, ...others] = Array.isArray(filter) ? filter.map((entry) => this.resolve(entry)) : [filter];
    if (others.length > 0 || !(only === null || only instanceof PdfName)) refuse("A stream is encoded more than once.");
    return only === null ? null : only.name;
  }

  #open({ number, generation }: PdfReference): PdfCursor | null {
    const place = this.#offsets.get(number);
    if (place === undefined || place.generation !== generation) return null;
    const cursor = objectCursor(this.#bytes, place.offset);
    if (cursor.integer() !== number || cursor.integer() !== generation)
      refuse(`Object ${number} is not where it should be.`);
    cursor.expect("obj");
    return cursor;
  }

  #valueAt(cursor: PdfCursor): PdfValue {
    const start = cursor.offset;
    const value = cursor.value();
    this.#readBytes += cursor.offset - start;
    if (this.#readBytes > MAX_READ_BYTES) refuse("The file refers to large objects too often.");
    return value;
  }

  /** The file with an appended update that changes a stream. @param id the identifier of the changed file */
  withChangedStream({ reference, dictionary, data }: ChangedStream, id: PdfArray): Uint8Array<ArrayBuffer> {
    const { number, generation } = reference;
    const entries = new Map<string, PdfValue>([...dictionary].filter(([key]) => key !== "Filter"));
    entries.set("Length", data.length);
    const startsOnLine = this.#bytes.at(-1) === 0x0a;
    const head = `${startsOnLine ? "" : "\n"}${number} ${generation} obj\n${writeValue(entries)}\nstream\n`;
    const tail = "\nendstream\nendobj\n";
    const offset = this.#bytes.length + (startsOnLine ? 0 : 1);
    const startOfNewTable = this.#bytes.length + head.length + data.length + tail.length;
    const trailer = new Map(this.trailer);
    trailer.set("ID", id);
    trailer.set("Prev", this.#startOfTable);
    const table = [
      "xref",
      `${number} 1`,
      // Each line of a table has 20 bytes, its line end included.
      `${String(offset).padStart(10, "0")} ${String(generation).padStart(5, "0")} n `,
      "trailer",
      writeValue(trailer),
      "startxref",
      startOfNewTable,
      "%%EOF\n",
    ].join("\n");
    const encoder = new TextEncoder();
    return joinBytes([this.#bytes, encoder.encode(head), data, encoder.encode(`${tail}${table}`)]);
  }
}

function objectCursor(bytes: Uint8Array, offset: number): PdfCursor {
  return new PdfCursor(bytes.subarray(0, offset + MAX_OBJECT_BYTES), offset);
}

function startOfTable(bytes: Uint8Array): number {
  const tail = String.fromCharCode(...bytes.subarray(-TAIL_BYTES));
  const place = tail.lastIndexOf("startxref");
  if (place < 0) return refuse("The file has no end: it is cut off, or not a PDF.");
  const cursor = new PdfCursor(bytes, Math.max(0, bytes.length - TAIL_BYTES) + place);
  cursor.expect("startxref");
  return cursor.integer();
}

function readTables(bytes: Uint8Array, start: number) {
  const offsets = new Map<number, { offset: number; generation: number }>();
  const seen = new Set<number>();
  let newest: PdfDictionary | null = null;
  let objectsLeft = MAX_OBJECTS;
  for (let place: number | null = start; place !== null; ) {
    if (seen.has(place) || seen.size >= MAX_UPDATES) return refuse("The cross-reference tables have no end.");
    seen.add(place);
    const cursor = new PdfCursor(bytes, place);
    if (!cursor.take("xref")) return refuse("The file has a cross-reference stream, which Typst does not write.");
    while (!cursor.take("trailer")) objectsLeft -= readSection(cursor, objectsLeft, offsets);
    const trailer = objectCursor(bytes, cursor.offset).value();
    if (!(trailer instanceof Map)) return refuse("The file has no trailer.");
    if (trailer.has("XRefStm")) return refuse("The file has a cross-reference stream, which Typst does not write.");
    newest ??= trailer;
    const previous = trailer.get("Prev");
    place = typeof previous === "number" ? previous : null;
  }
  return { trailer: newest ?? refuse("The file has no trailer."), offsets };
}

/**
 * Reads a section of a table. The newest table comes first, so entries that exist already are newer. @returns the
 * number of entries
 */
function readSection(
  cursor: PdfCursor,
  maxEntries: number,
  offsets: Map<number, { offset: number; generation: number }>,
): number {
  const first = cursor.integer();
  const count = cursor.integer();
  if (count > maxEntries) refuse(`The file has more than ${MAX_OBJECTS} objects.`);
  for (let number = first; number < first + count; number++) {
    const offset = cursor.integer();
    const generation = cursor.integer();
    const isUsed = cursor.take("n");
    if (!isUsed) cursor.expect("f");
    // A removed object must hide an older one with its number. No real generation is negative.
    if (!offsets.has(number)) offsets.set(number, { offset, generation: isUsed ? generation : -1 });
  }
  return count;
}

function decodeStream(raw: Uint8Array, filter: string | null, maxBytes: number): Uint8Array {
  if (filter === null) return raw.length <= maxBytes ? raw : refuse(`A stream has more than ${maxBytes} bytes.`);
  if (filter !== "FlateDecode") return refuse("A stream is encoded by a filter other than Flate.");
  const chunks: Uint8Array[] = [];
  let size = 0;
  const inflater = new Unzlib((chunk) => {
    size += chunk.length;
    if (size > maxBytes) refuse(`A stream has more than ${maxBytes} bytes.`);
    chunks.push(chunk);
  });
  try {
    for (let start = 0; start < raw.length; start += CHUNK_BYTES) {
      inflater.push(raw.subarray(start, start + CHUNK_BYTES), start + CHUNK_BYTES >= raw.length);
    }
  } catch (error) {
    throw error instanceof PdfSyntaxError ? error : new PdfSyntaxError("A stream cannot be decoded.", { cause: error });
  }
  return joinBytes(chunks);
}

function joinBytes(parts: readonly Uint8Array[]): Uint8Array<ArrayBuffer> {
  const whole = new Uint8Array(parts.reduce((size, part) => size + part.length, 0));
  let offset = 0;
  for (const part of parts) {
    whole.set(part, offset);
    offset += part.length;
  }
  return whole;
}

function refuse(message: string): never {
  throw new PdfSyntaxError(message);
}
