/**
 * Reads as much of a PDF as an e-invoice needs, and appends a changed object to it (ISO 32000-1, 7.5.6). The bytes
 * before it stay unchanged. What Typst 0.15.1 does not write is refused: cross-reference streams, several sections of a
 * table, encryption, filters other than Flate. Nothing is repaired.
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

/** Enough for thousands of attachments. A file could refer to a large object a million times. */
const DEFAULT_MAX_TEXT_BYTES = 4 * 1024 ** 2;
/** Most objects that are read are shorter. */
const SHORT_TEXT_BYTES = 512;
/** Each entry of a table, its line end included. */
const ENTRY_BYTES = 20;
/** `%%EOF` and the offset before it are in the last kilobyte. */
const TAIL_BYTES = 1024;
/** Small, because Flate expands a chunk up to a thousand times before its bytes can be counted. */
const CHUNK_BYTES = 16_384;

export interface PdfStream {
  readonly dictionary: PdfDictionary;
  readonly data: Uint8Array;
}

interface ReadValue {
  readonly value: PdfValue;
  /** The offset of what follows it. */
  readonly end: number;
}

export class PdfFile {
  readonly #bytes: Uint8Array;
  readonly #maxTextBytes: number;
  readonly #startOfTable: number;
  readonly #firstNumber: number;
  /** The offset of the first entry, and of what follows the last one. */
  readonly #entries: { readonly start: number; readonly end: number };
  /** The size of all objects that are read, each as often as it is read. */
  #textBytes = 0;
  readonly trailer: PdfDictionary;

  /** @param maxTextBytes of all objects that are read. @throws PdfSyntaxError */
  constructor(bytes: Uint8Array, maxTextBytes = DEFAULT_MAX_TEXT_BYTES) {
    this.#bytes = bytes;
    this.#maxTextBytes = maxTextBytes;
    if (this.#textAt(0, 5) !== "%PDF-") refuse("The file is not a PDF.");
    const tail = this.#textAt(Math.max(0, bytes.length - TAIL_BYTES), TAIL_BYTES);
    const [, start] = /startxref\s(\d+)\s%%EOF\s*$/.exec(tail) ?? refuse("The file has no end: it is cut off.");
    this.#startOfTable = Number(start);
    const [head, first, count] =
      /^xref\n(\d+) (\d+)\n/.exec(this.#textAt(this.#startOfTable, 64)) ??
      refuse("The file has no cross-reference table as Typst writes it.");
    const startOfEntries = this.#startOfTable + head.length;
    this.#firstNumber = Number(first);
    this.#entries = { start: startOfEntries, end: startOfEntries + ENTRY_BYTES * Number(count) };
    const trailer = this.#readValue(this.#entries.end, "trailer")?.value;
    this.trailer = trailer instanceof Map ? trailer : refuse("The file has no trailer.");
    if (this.trailer.has("Encrypt")) refuse("The file is encrypted.");
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
    const resolved = this.#readObject(value)?.value ?? null;
    // An object must not be only a reference, so references cannot form chains or circles.
    return resolved instanceof PdfReference ? refuse("An object is only a reference.") : resolved;
  }

  /**
   * The decoded content of a stream; null if the value does not refer to a stream.
   *
   * @throws PdfSyntaxError if it is larger than `maxBytes`, or encoded by anything other than Flate
   */
  stream(value: PdfValue | undefined, maxBytes: number): PdfStream | null {
    const object = value instanceof PdfReference ? this.#readObject(value) : null;
    const dictionary = object?.value;
    if (object === null || !(dictionary instanceof Map)) return null;
    const [keyword] = /^\s*stream\n/.exec(this.#textAt(object.end, 16)) ?? [];
    if (keyword === undefined) return null;
    const start = object.end + keyword.length;
    const length = dictionary.get("Length");
    if (typeof length !== "number" || !(length >= 0)) return refuse("A stream has no length.");
    if (this.#textAt(start + length, 10) !== "\nendstream") refuse("A stream does not end where it should.");
    const raw = this.#bytes.subarray(start, start + length);
    return { dictionary, data: decodeStream(raw, dictionary, maxBytes) };
  }

  #readObject({ number }: PdfReference): ReadValue | null {
    const place = this.#entries.start + ENTRY_BYTES * (number - this.#firstNumber);
    if (place < this.#entries.start || place >= this.#entries.end) return null;
    const [, offset] = /^(\d{10}) 00000 n/.exec(this.#textAt(place, ENTRY_BYTES)) ?? [];
    if (offset === undefined) return null;
    return this.#readValue(Number(offset), `${number} 0 obj`) ?? refuse(`Object ${number} is not where it should be.`);
  }

  /** Reads what follows a keyword; null if the keyword is not there. */
  #readValue(offset: number, keyword: string): ReadValue | null {
    for (let maxBytes = SHORT_TEXT_BYTES; ; maxBytes *= 4) {
      const text = this.#textAt(offset, maxBytes);
      this.#textBytes += text.length;
      if (this.#textBytes > this.#maxTextBytes) refuse("Objects are damaged, too large, or referred to too often.");
      const cursor = new PdfCursor(text);
      if (!cursor.take(keyword)) return null;
      try {
        return { value: cursor.value(), end: offset + cursor.offset };
      } catch (error) {
        // The text may be only the beginning of the object.
        if (text.length < maxBytes) throw error;
      }
    }
  }

  /** One character for each byte. */
  #textAt(offset: number, maxBytes: number): string {
    const bytes = this.#bytes.subarray(offset, offset + maxBytes);
    let text = "";
    for (let start = 0; start < bytes.length; start += CHUNK_BYTES) {
      text += String.fromCharCode(...bytes.subarray(start, start + CHUNK_BYTES));
    }
    return text;
  }

  /** The file with an appended update that changes a stream. @param id the identifier of the changed file */
  withChangedStream({ number }: PdfReference, { dictionary, data }: PdfStream, id: PdfArray): Uint8Array<ArrayBuffer> {
    const entries = new Map<string, PdfValue>([...dictionary].filter(([key]) => key !== "Filter"));
    entries.set("Length", data.length);
    const startOfLine = this.#bytes.at(-1) === 0x0a ? "" : "\n";
    const head = `${startOfLine}${number} 0 obj\n${writeValue(entries)}\nstream\n`;
    const tail = "\nendstream\nendobj\n";
    const offset = this.#bytes.length + startOfLine.length;
    const startOfNewTable = this.#bytes.length + head.length + data.length + tail.length;
    const trailer = new Map([...this.trailer, ["ID", id], ["Prev", this.#startOfTable]]);
    const table = `xref\n${number} 1\n${String(offset).padStart(10, "0")} 00000 n \n`;
    const end = `trailer\n${writeValue(trailer)}\nstartxref\n${startOfNewTable}\n%%EOF\n`;
    const encoder = new TextEncoder();
    return joinBytes([this.#bytes, encoder.encode(head), data, encoder.encode(tail + table + end)]);
  }
}

function decodeStream(raw: Uint8Array, dictionary: PdfDictionary, maxBytes: number): Uint8Array {
  const filter = dictionary.get("Filter");
  const isFlate = filter instanceof PdfName && filter.name === "FlateDecode";
  if ((filter !== undefined && !isFlate) || dictionary.has("DecodeParms")) {
    refuse("A stream is encoded by a filter other than Flate.");
  }
  if (!isFlate) return raw.length <= maxBytes ? raw : refuse(`A stream has more than ${maxBytes} bytes.`);
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
