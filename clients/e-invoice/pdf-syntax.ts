/** The objects of a PDF (ISO 32000-1, 7.2 and 7.3): read from bytes, and written again. */

export type PdfValue = null | boolean | number | PdfName | PdfString | PdfReference | PdfArray | PdfDictionary;
export type PdfArray = readonly PdfValue[];
export type PdfDictionary = ReadonlyMap<string, PdfValue>;

export class PdfName {
  readonly name: string;
  constructor(name: string) {
    this.name = name;
  }
}

export class PdfString {
  /** One character for each byte. */
  readonly bytes: string;
  constructor(bytes: string) {
    this.bytes = bytes;
  }
}

export class PdfReference {
  readonly number: number;
  readonly generation: number;
  constructor(number: number, generation: number) {
    this.number = number;
    this.generation = generation;
  }
}

/** A file that breaks the syntax of PDF, or uses a part of it that this reader does not support. */
export class PdfSyntaxError extends Error {}

/** Far deeper than the files of any program nest. */
const MAX_DEPTH = 64;
/** Far longer than the strings that are read here: file names and identifiers. The contents of pages are never read. */
const MAX_TOKEN_BYTES = 1_000_000;

const WHITE_SPACE = new Set([0x00, 0x09, 0x0a, 0x0c, 0x0d, 0x20]);
const DELIMITERS = new Set([..."()<>[]{}/%"].map((character) => character.charCodeAt(0)));
const ESCAPES: Readonly<Record<string, string>> = { n: "\n", r: "\r", t: "\t", b: "\b", f: "\f" };

export class PdfCursor {
  readonly #bytes: Uint8Array;
  offset: number;

  constructor(bytes: Uint8Array, offset: number) {
    if (offset < 0 || offset >= bytes.length) throw new PdfSyntaxError("An offset points outside the file.");
    this.#bytes = bytes;
    this.offset = offset;
  }

  take(word: string): boolean {
    this.skipSpace();
    for (let index = 0; index < word.length; index++) {
      if (this.#bytes[this.offset + index] !== word.charCodeAt(index)) return false;
    }
    this.offset += word.length;
    return true;
  }

  expect(word: string): void {
    if (!this.take(word)) throw new PdfSyntaxError(`"${word}" is missing at byte ${this.offset}.`);
  }

  integer(): number {
    const value = this.#number();
    if (value === null || !Number.isSafeInteger(value) || value < 0) {
      throw new PdfSyntaxError(`A whole number is missing at byte ${this.offset}.`);
    }
    return value;
  }

  skipSpace(): void {
    for (;;) {
      const byte = this.#bytes[this.offset];
      if (byte === 0x25) while (![0x0a, 0x0d, undefined].includes(this.#bytes[this.offset])) this.offset++;
      else if (byte !== undefined && WHITE_SPACE.has(byte)) this.offset++;
      else return;
    }
  }

  value(depth = 0): PdfValue {
    if (depth > MAX_DEPTH) throw new PdfSyntaxError("Objects are nested too deeply.");
    if (this.take("<<")) return this.#dictionary(depth);
    if (this.take("[")) return this.#array(depth);
    if (this.take("/")) return new PdfName(this.#name());
    if (this.take("(")) return new PdfString(this.#literalString());
    if (this.take("<")) return new PdfString(this.#hexString());
    for (const [word, value] of [
      ["null", null],
      ["true", true],
      ["false", false],
    ] as const) {
      if (this.take(word)) return value;
    }
    const number = this.#number();
    if (number === null) throw new PdfSyntaxError(`There is no object at byte ${this.offset}.`);
    return this.#reference(number) ?? number;
  }

  #dictionary(depth: number): PdfDictionary {
    const entries = new Map<string, PdfValue>();
    while (!this.take(">>")) {
      this.expect("/");
      const key = this.#name();
      if (entries.has(key)) throw new PdfSyntaxError(`A dictionary has /${key} twice.`);
      entries.set(key, this.value(depth + 1));
    }
    return entries;
  }

  #array(depth: number): PdfArray {
    const items: PdfValue[] = [];
    while (!this.take("]")) items.push(this.value(depth + 1));
    return items;
  }

  /** Reads a reference such as `12 0 R`. Only its third word distinguishes it from a number. */
  #reference(number: number): PdfReference | null {
    const after = this.offset;
    if (Number.isSafeInteger(number) && number > 0) {
      this.skipSpace();
      const generation = this.#number();
      if (generation !== null && Number.isSafeInteger(generation) && generation >= 0 && this.take("R")) {
        return new PdfReference(number, generation);
      }
    }
    this.offset = after;
    return null;
  }

  #number(): number | null {
    this.skipSpace();
    const start = this.offset;
    const text = this.#while(
      (byte) => (byte >= 0x30 && byte <= 0x39) || byte === 0x2b || byte === 0x2d || byte === 0x2e,
    );
    // Each digit can be matched in one way only, so a text that is no number is refused after one pass.
    if (/^[+-]?(?:\d+(?:\.\d*)?|\.\d+)$/.test(text)) return Number(text);
    this.offset = start;
    return null;
  }

  #name(): string {
    const text = this.#while((byte) => !WHITE_SPACE.has(byte) && !DELIMITERS.has(byte));
    return text.replaceAll(/#([0-9A-Fa-f]{2})/g, (_, code: string) => String.fromCharCode(Number.parseInt(code, 16)));
  }

  #hexString(): string {
    const digits = this.#while((byte) => byte !== 0x3e).replaceAll(/\s/g, "");
    this.expect(">");
    if (!/^[0-9A-Fa-f]*$/.test(digits)) throw new PdfSyntaxError("A string has a digit that is not hexadecimal.");
    return (digits.length % 2 === 0 ? digits : `${digits}0`).replaceAll(/../g, (code) =>
      String.fromCharCode(Number.parseInt(code, 16)),
    );
  }

  #literalString(): string {
    let text = "";
    for (let depth = 1; depth > 0; ) {
      const character = this.#next();
      if (character === "\\") {
        text += this.#escaped();
        continue;
      }
      if (character === "(") depth++;
      if (character === ")") depth--;
      if (depth > 0) text += character;
      if (text.length > MAX_TOKEN_BYTES) throw new PdfSyntaxError("A string is too long.");
    }
    return text;
  }

  #escaped(): string {
    const character = this.#next();
    if (character === "\r") {
      if (this.#bytes[this.offset] === 0x0a) this.offset++;
      return "";
    }
    if (character === "\n") return "";
    if (character < "0" || character > "7") return ESCAPES[character] ?? character;
    let digits = character;
    while (digits.length < 3 && /^[0-7]$/.test(this.#peek())) digits += this.#next();
    return String.fromCharCode(Number.parseInt(digits, 8) & 0xff);
  }

  #peek(): string {
    const byte = this.#bytes[this.offset];
    return byte === undefined ? "" : String.fromCharCode(byte);
  }

  #next(): string {
    const character = this.#peek();
    if (character === "") throw new PdfSyntaxError("The file ends inside a string.");
    this.offset++;
    return character;
  }

  #while(accepts: (byte: number) => boolean): string {
    const start = this.offset;
    let byte = this.#bytes[this.offset];
    while (byte !== undefined && accepts(byte)) byte = this.#bytes[++this.offset];
    if (this.offset - start > MAX_TOKEN_BYTES) throw new PdfSyntaxError("A word is too long.");
    return Array.from(this.#bytes.subarray(start, this.offset), (code) => String.fromCharCode(code)).join("");
  }
}

export function writeValue(value: PdfValue): string {
  if (value instanceof PdfName) return `/${value.name.replaceAll(/[^!-~]|[#()<>[\]{}/%]/g, escapeInName)}`;
  if (value instanceof PdfString) return `<${value.bytes.replaceAll(/./gs, writeHexadecimal)}>`;
  if (value instanceof PdfReference) return `${value.number} ${value.generation} R`;
  if (value instanceof Map)
    return `<<${[...value].map(([key, entry]) => `${writeValue(new PdfName(key))} ${writeValue(entry)}`).join("")}>>`;
  if (Array.isArray(value)) return `[${value.map(writeValue).join(" ")}]`;
  return String(value);
}

function escapeInName(character: string): string {
  return `#${writeHexadecimal(character)}`;
}

function writeHexadecimal(character: string): string {
  return character.charCodeAt(0).toString(16).padStart(2, "0");
}
