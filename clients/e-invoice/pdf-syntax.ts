/** The objects of a PDF (ISO 32000-1, 7.3) as Typst writes them: reads and writes text with one character per byte. */

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

/** Of generation 0. */
export class PdfReference {
  readonly number: number;
  constructor(number: number) {
    this.number = number;
  }
}

/** A file that breaks the syntax of PDF, or uses a part of it that Typst does not write. */
export class PdfSyntaxError extends Error {}

/** Far deeper than the files of any program nest. */
const MAX_DEPTH = 64;

/** No pattern can match the same text in many ways, so that a text that is no object costs one pass. */
const TOKENS = {
  name: /\/([^\s()<>[\]{}/%]*)/y,
  hexString: /<([0-9A-Fa-f]*)>/y,
  reference: /(\d{1,10}) 0 R\b/y,
  number: /[+-]?(?:\d+(?:\.\d*)?|\.\d+)/y,
  word: /(?:true|false|null)\b/y,
} satisfies { readonly [token: string]: RegExp };
const WORDS: ReadonlyMap<string | undefined, PdfValue> = new Map([
  ["true", true],
  ["false", false],
  ["null", null],
]);
const STRING_PART = /([^\\()]+)|\\([0-7]{3})|\\(.)|([()])/sy;
const ESCAPES: Readonly<Record<string, string>> = { n: "\n", r: "\r", t: "\t", b: "\b", f: "\f" };

export class PdfCursor {
  readonly #text: string;
  offset = 0;

  constructor(text: string) {
    this.#text = text;
  }

  /** Skips white space and, if it follows, a word. */
  take(word: string): boolean {
    this.#match(/\s*/y);
    if (!this.#text.startsWith(word, this.offset)) return false;
    this.offset += word.length;
    return true;
  }

  value(depth = 0): PdfValue {
    if (depth > MAX_DEPTH) throw new PdfSyntaxError("Objects are nested too deeply.");
    if (this.take("<<")) return this.#dictionary(depth);
    if (this.take("[")) return this.#itemsUntil("]", depth);
    if (this.take("(")) return new PdfString(this.#literalString());
    const name = this.#match(TOKENS.name)?.[1];
    if (name !== undefined) return new PdfName(name.replaceAll(/#([0-9A-Fa-f]{2})/g, (_, code) => decodeHexByte(code)));
    const digits = this.#match(TOKENS.hexString)?.[1];
    if (digits !== undefined)
      return new PdfString(digits.replaceAll(/..?/g, (code) => decodeHexByte(code.padEnd(2, "0"))));
    const reference = this.#match(TOKENS.reference)?.[1];
    if (reference !== undefined) return new PdfReference(Number(reference));
    const number = this.#match(TOKENS.number)?.[0];
    if (number !== undefined) return Number(number);
    const value = WORDS.get(this.#match(TOKENS.word)?.[0]);
    if (value === undefined) throw new PdfSyntaxError("There is no object where one should be.");
    return value;
  }

  #dictionary(depth: number): PdfDictionary {
    const entries = new Map<string, PdfValue>();
    const items = this.#itemsUntil(">>", depth);
    for (let index = 0; index < items.length; index += 2) {
      const [key, value] = items.slice(index, index + 2);
      if (!(key instanceof PdfName) || value === undefined)
        throw new PdfSyntaxError("A dictionary lacks a key or value.");
      if (entries.has(key.name)) throw new PdfSyntaxError(`A dictionary has /${key.name} twice.`);
      entries.set(key.name, value);
    }
    return entries;
  }

  #itemsUntil(end: string, depth: number): PdfArray {
    const items: PdfValue[] = [];
    while (!this.take(end)) items.push(this.value(depth + 1));
    return items;
  }

  #literalString(): string {
    let text = "";
    for (let depth = 1; depth > 0; ) {
      const part = this.#match(STRING_PART);
      if (part === null) throw new PdfSyntaxError("The file ends inside a string.");
      const [whole, , octal, escaped, parenthesis] = part;
      if (parenthesis !== undefined) depth += parenthesis === "(" ? 1 : -1;
      if (octal !== undefined) text += String.fromCharCode(Number.parseInt(octal, 8) & 0xff);
      else if (escaped !== undefined) text += ESCAPES[escaped] ?? escaped;
      else if (depth > 0) text += whole;
    }
    return text;
  }

  #match(pattern: RegExp): RegExpExecArray | null {
    pattern.lastIndex = this.offset;
    const match = pattern.exec(this.#text);
    if (match !== null) this.offset = pattern.lastIndex;
    return match;
  }
}

const decodeHexByte = (code: string) => String.fromCharCode(Number.parseInt(code, 16));

export function writeValue(value: PdfValue): string {
  if (value instanceof PdfName)
    return `/${value.name.replaceAll(/[^!-~]|[#()<>[\]{}/%]/g, (it) => `#${writeHexadecimal(it)}`)}`;
  if (value instanceof PdfString) return `<${value.bytes.replaceAll(/./gs, writeHexadecimal)}>`;
  if (value instanceof PdfReference) return `${value.number} 0 R`;
  if (value instanceof Map)
    return `<<${[...value].map(([key, entry]) => `${writeValue(new PdfName(key))} ${writeValue(entry)}`).join("")}>>`;
  if (Array.isArray(value)) return `[${value.map(writeValue).join(" ")}]`;
  return String(value);
}

function writeHexadecimal(character: string): string {
  return character.charCodeAt(0).toString(16).padStart(2, "0");
}
