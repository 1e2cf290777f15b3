/**
 * The objects of a PDF by Typst as its bytes pass: one after the other, uncompressed, no streams of objects (seen with
 * 0.15.1 under each standard and version). Of each, only the wanted entries of its own dictionary are kept.
 */
import { type PdfBracket, type PdfTokenReader, PdfTokens } from "./pdf-tokens.ts";

export type PdfEntry =
  | { readonly kind: "name"; readonly name: string }
  /** A number, or the number of the object that a reference names. */
  | { readonly kind: "number"; readonly value: number }
  /** The first numbers of an array. */
  | { readonly kind: "numbers"; readonly values: readonly number[] }
  /** With one character for each byte; null if it is longer than what is kept. */
  | { readonly kind: "string"; readonly bytes: string | null; readonly byteLength: number };

export interface PdfObject {
  readonly number: number;
  readonly entries: ReadonlyMap<string, PdfEntry>;
}

export interface PdfObjectReader {
  /** The keys whose values are kept. */
  readonly wantedKeys: ReadonlySet<string>;
  /** The names among these values that are told apart. All others are empty. */
  readonly knownNames: ReadonlySet<string>;
  /** How many bytes of a string among them are kept. */
  readonly maxStringBytes: number;
  object(object: PdfObject): void;
  /** Before its object. */
  streamPart(entries: PdfObject["entries"], bytes: Uint8Array): void;
  /** Any string, wherever it is. */
  string(byteLength: number): void;
  /** The language of an element or of the whole document; null if it is no language for its length alone. */
  language(tag: string | null): void;
}

/** The number that the trailer has here. No object has it. */
export const TRAILER = 0;

const KEYWORDS = ["obj", "endobj", "trailer", "startxref"];
const LANGUAGE_KEY = "Lang";

/** Numbers of an array that are kept: a rectangle has four. */
const MAX_NUMBERS = 4;
const MAX_LANGUAGE_BYTES = 64;

export class PdfObjects implements PdfTokenReader {
  readonly #reader: PdfObjectReader;
  readonly #tokens: PdfTokens;
  /** How many brackets are open. */
  #depth = 0;
  /** Whether the outermost of them is that of a dictionary. */
  #isDictionary = false;
  /** The last numbers outside of all brackets. */
  #numberBefore = 0;
  #lastNumber = 0;
  #object = 0;
  #entries = new Map<string, PdfEntry>();
  /** The key in the outermost dictionary whose value is being read; empty if that is not wanted. */
  #key: string | null = null;
  #numbers: number[] = [];
  #isLanguageNext = false;
  #isAtEnd = false;

  constructor(reader: PdfObjectReader) {
    this.#reader = reader;
    this.#tokens = new PdfTokens(this, [...KEYWORDS, LANGUAGE_KEY, ...reader.wantedKeys, ...reader.knownNames]);
  }

  push(chunk: Uint8Array): void {
    this.#tokens.push(chunk);
  }

  /** Whether all of the file has been read, and had the expected form. */
  get isWhole(): boolean {
    return this.#isAtEnd && this.#depth === 0 && !this.#tokens.isLost;
  }

  name(name: string): void {
    this.#isLanguageNext = name === LANGUAGE_KEY;
    if (this.#depth !== 1 || !this.#isDictionary) return;
    if (this.#key === null) this.#key = this.#reader.wantedKeys.has(name) ? name : "";
    else this.#endValue({ kind: "name", name });
  }

  number(value: number): void {
    this.#isLanguageNext = false;
    if (this.#depth === 0) {
      this.#numberBefore = this.#lastNumber;
      this.#lastNumber = value;
    } else if (this.#depth === 1) {
      this.#endValue({ kind: "number", value });
    } else if (this.#depth === 2 && this.#key && this.#numbers.length < MAX_NUMBERS) {
      this.#numbers.push(value);
    }
  }

  keyword(keyword: string): void {
    this.#isLanguageNext = false;
    if (this.#depth === 1) this.#key = null;
    if (this.#depth > 0) return;
    if (keyword === "obj") this.#begin(this.#numberBefore);
    else if (keyword === "trailer") this.#begin(TRAILER);
    else if (keyword === "endobj" || keyword === "startxref") {
      this.#reader.object({ number: this.#object, entries: this.#entries });
      this.#isAtEnd = keyword === "startxref";
    }
  }

  #begin(object: number): void {
    this.#object = object;
    if (this.#entries.size > 0) this.#entries = new Map();
    this.#key = null;
    this.#isDictionary = false;
  }

  open(bracket: PdfBracket): void {
    if (this.#depth === 0) this.#isDictionary = bracket === "dictionary";
    if (this.#depth === 1 && this.#numbers.length > 0) this.#numbers = [];
    this.#depth++;
  }

  close(): void {
    this.#depth--;
    if (this.#depth === 1) this.#endValue({ kind: "numbers", values: this.#numbers });
  }

  wantedStringBytes(): number {
    if (this.#isLanguageNext) return MAX_LANGUAGE_BYTES;
    return this.#depth === 1 && this.#key ? this.#reader.maxStringBytes : 0;
  }

  string(kept: string | null, byteLength: number): void {
    this.#reader.string(byteLength);
    if (this.#isLanguageNext) this.#reader.language(kept);
    this.#isLanguageNext = false;
    this.#endValue({ kind: "string", bytes: kept, byteLength });
  }

  #endValue(entry: PdfEntry): void {
    if (this.#depth !== 1) return;
    if (this.#key) this.#entries.set(this.#key, entry);
    this.#key = null;
  }

  streamLength(): number | null {
    const length = this.#entries.get("Length");
    return this.#depth === 0 && length?.kind === "number" ? length.value : null;
  }

  streamPart(bytes: Uint8Array): void {
    this.#reader.streamPart(this.#entries, bytes);
  }
}
