/**
 * The tokens of a PDF (ISO 32000-1, 7.2 and 7.3) as its bytes pass, in chunks cut anywhere. Written for files by Typst:
 * their syntax is right, but callers choose what is in strings and streams. So a string is followed to its own end, a
 * stream is skipped by its length, and neither can pose as anything else. No byte is looked at twice; what is kept is
 * one number and one string that the reader asked for.
 */

export interface PdfTokenReader {
  /** @param name without its `/`; empty unless it is a known one */
  name(name: string): void;
  number(value: number): void;
  /** @param keyword empty unless it is a known one */
  keyword(keyword: string): void;
  open(bracket: PdfBracket): void;
  close(): void;
  /** How many bytes of the string that begins are to be kept. */
  wantedStringBytes(): number;
  /** @param kept one character for each byte; null if nothing was wanted, or the string is longer than that */
  string(kept: string | null, byteLength: number): void;
  /** The number of bytes after the keyword `stream`; null if it is not known, which ends the reading. */
  streamLength(): number | null;
  streamPart(bytes: Uint8Array): void;
}

export type PdfBracket = "dictionary" | "array";

const STATE = {
  gap: 0,
  word: 1,
  name: 2,
  string: 3,
  escape: 4,
  hexadecimal: 5,
  less: 6,
  greater: 7,
  comment: 8,
  streamLine: 9,
  stream: 10,
  lost: 11,
} as const;
type State = (typeof STATE)[keyof typeof STATE];

const CODE = {
  lineFeed: 0x0a,
  carriageReturn: 0x0d,
  percent: 0x25,
  minus: 0x2d,
  point: 0x2e,
  openParenthesis: 0x28,
  closeParenthesis: 0x29,
  slash: 0x2f,
  zero: 0x30,
  nine: 0x39,
  less: 0x3c,
  greater: 0x3e,
  openSquare: 0x5b,
  backslash: 0x5c,
  closeSquare: 0x5d,
} as const;

const SPACE = 1;
const DELIMITER = 2;
/** The kind of each byte: zero if it can be part of a word. */
const KINDS = new Uint8Array(256);
for (const code of [0x00, 0x09, 0x0a, 0x0c, 0x0d, 0x20]) KINDS[code] = SPACE;
for (const character of "()<>[]{}/%") KINDS[character.charCodeAt(0)] = DELIMITER;

/** Longer ones are cut. */
const MAX_WORD_BYTES = 32;

export class PdfTokens {
  readonly #reader: PdfTokenReader;
  readonly #known: KnownWords;
  #state: State = STATE.gap;
  readonly #word = new Uint8Array(MAX_WORD_BYTES);
  #wordBytes = 0;
  /** What is kept of it: one character for each byte. */
  #string = "";
  #stringBytes = 0;
  #wantedBytes = 0;
  /** How many parentheses are open in a string. */
  #depth = 0;
  /** A byte of a string in hexadecimal, and how many of its digits have been read. */
  #byte = 0;
  #digits = 0;
  #streamBytesLeft = 0;

  /** @param known the names and keywords that the reader tells from others, ASCII */
  constructor(reader: PdfTokenReader, known: Iterable<string>) {
    this.#reader = reader;
    this.#known = new KnownWords([...known, "stream"]);
  }

  /** Whether the bytes were not those of a PDF as Typst writes it. Nothing after that place was read. */
  get isLost(): boolean {
    return this.#state === STATE.lost;
  }

  push(chunk: Uint8Array): void {
    for (let at = 0; at < chunk.length; ) at = this.#read(chunk, at);
  }

  /** Reads at least one byte, or changes the state, and returns the place of the next one. */
  #read(chunk: Uint8Array, at: number): number {
    switch (this.#state) {
      case STATE.gap:
        return this.#begin(chunk, at);
      case STATE.word:
      case STATE.name:
        return this.#readWord(chunk, at);
      case STATE.string:
        return this.#readString(chunk, at);
      case STATE.escape:
        return this.#readEscape(chunk[at] ?? 0, at + 1);
      case STATE.hexadecimal:
        return this.#readHexadecimal(chunk, at);
      case STATE.less:
      case STATE.greater:
        return this.#readBracket(chunk[at] ?? 0, at);
      case STATE.comment:
        return this.#skipComment(chunk, at);
      case STATE.streamLine:
        return this.#beginStream(chunk[at] ?? 0, at + 1);
      case STATE.stream:
        return this.#skipStream(chunk, at);
      case STATE.lost:
        return chunk.length;
    }
  }

  #begin(chunk: Uint8Array, start: number): number {
    let at = start;
    while (at < chunk.length && KINDS[chunk[at] ?? 0] === SPACE) at++;
    if (at === chunk.length) return at;
    const code = chunk[at] ?? 0;
    if (KINDS[code] === DELIMITER) {
      this.#beginAt(code);
      return at + 1;
    }
    this.#state = STATE.word;
    this.#wordBytes = 0;
    return at;
  }

  #beginAt(delimiter: number): void {
    switch (delimiter) {
      case CODE.slash:
        this.#state = STATE.name;
        this.#wordBytes = 0;
        break;
      case CODE.less:
        this.#state = STATE.less;
        break;
      case CODE.greater:
        this.#state = STATE.greater;
        break;
      case CODE.openParenthesis:
        this.#beginString(STATE.string);
        this.#depth = 1;
        break;
      case CODE.openSquare:
        this.#reader.open("array");
        break;
      case CODE.closeSquare:
        this.#reader.close();
        break;
      case CODE.percent:
        this.#state = STATE.comment;
        break;
      default:
        this.#state = STATE.lost;
    }
  }

  #readWord(chunk: Uint8Array, start: number): number {
    let at = start;
    let length = this.#wordBytes;
    for (; at < chunk.length; at++) {
      const code = chunk[at] ?? 0;
      if (KINDS[code] !== 0) break;
      if (length < MAX_WORD_BYTES) this.#word[length++] = code;
    }
    this.#wordBytes = length;
    if (at < chunk.length) this.#endWord();
    return at;
  }

  #endWord(): void {
    const isName = this.#state === STATE.name;
    this.#state = STATE.gap;
    if (isName) {
      this.#reader.name(this.#known.find(this.#word, this.#wordBytes));
      return;
    }
    const value = this.#number();
    if (value !== null) {
      this.#reader.number(value);
      return;
    }
    const keyword = this.#known.find(this.#word, this.#wordBytes);
    if (keyword === "stream") this.#state = STATE.streamLine;
    else this.#reader.keyword(keyword);
  }

  /** Null if the word is none. */
  #number(): number | null {
    const isNegative = this.#word[0] === CODE.minus;
    let digits = 0;
    let scale = 0;
    for (let at = isNegative ? 1 : 0; at < this.#wordBytes; at++) {
      const code = this.#word[at] ?? 0;
      if (code === CODE.point && scale === 0) {
        scale = 1;
      } else if (code >= CODE.zero && code <= CODE.nine) {
        digits = digits * 10 + code - CODE.zero;
        scale *= 10;
      } else {
        return null;
      }
    }
    // Both are exact up to 2^53, so the quotient is the nearest number. Longer ones say no more about a page.
    const value = digits / Math.max(1, scale);
    return isNegative ? -value : value;
  }

  #readBracket(code: number, at: number): number {
    const isDouble = code === (this.#state === STATE.less ? CODE.less : CODE.greater);
    if (this.#state === STATE.less && !isDouble) {
      this.#beginString(STATE.hexadecimal);
      this.#digits = 0;
      return at;
    }
    const isOpen = this.#state === STATE.less;
    this.#state = isDouble ? STATE.gap : STATE.lost;
    if (isDouble && isOpen) this.#reader.open("dictionary");
    else if (isDouble) this.#reader.close();
    return at + 1;
  }

  #beginString(state: State): void {
    this.#state = state;
    this.#string = "";
    this.#stringBytes = 0;
    this.#wantedBytes = this.#reader.wantedStringBytes();
  }

  #readString(chunk: Uint8Array, start: number): number {
    for (let at = start; at < chunk.length; at++) {
      const code = chunk[at] ?? 0;
      if (code === CODE.backslash) {
        this.#state = STATE.escape;
        return at + 1;
      }
      if (code === CODE.openParenthesis) this.#depth++;
      else if (code === CODE.closeParenthesis && --this.#depth === 0) {
        this.#endString();
        return at + 1;
      }
      this.#keep(code);
    }
    return chunk.length;
  }

  /**
   * In strings that are kept, Typst escapes parentheses and backslashes alone; it writes others with a control character in
   * hexadecimal. So what an escape stands for in the rest, such as addresses and names of labels, does not matter, only that
   * it is one byte: with digits, of which Typst always writes three, the other two are none.
   */
  #readEscape(code: number, next: number): number {
    if (code >= CODE.zero && code <= CODE.nine) this.#stringBytes -= 2;
    this.#keep(code);
    this.#state = STATE.string;
    return next;
  }

  #readHexadecimal(chunk: Uint8Array, start: number): number {
    for (let at = start; at < chunk.length; at++) {
      const code = chunk[at] ?? 0;
      if (code === CODE.greater) {
        this.#endString();
        return at + 1;
      }
      if (KINDS[code] === SPACE) continue;
      // The low four bits of a letter count from one.
      this.#byte = ((this.#byte << 4) | ((code & 0x0f) + (code > CODE.nine ? 9 : 0))) & 0xff;
      this.#digits = 1 - this.#digits;
      if (this.#digits === 0) this.#keep(this.#byte);
    }
    return chunk.length;
  }

  #keep(byte: number): void {
    if (this.#stringBytes < this.#wantedBytes) this.#string += String.fromCharCode(byte);
    this.#stringBytes++;
  }

  #endString(): void {
    this.#state = STATE.gap;
    const isKept = this.#wantedBytes > 0 && this.#stringBytes <= this.#wantedBytes;
    this.#reader.string(isKept ? this.#string : null, this.#stringBytes);
  }

  #skipComment(chunk: Uint8Array, start: number): number {
    let at = start;
    while (at < chunk.length && chunk[at] !== CODE.lineFeed && chunk[at] !== CODE.carriageReturn) at++;
    if (at < chunk.length) this.#state = STATE.gap;
    return at;
  }

  #beginStream(code: number, next: number): number {
    if (code === CODE.carriageReturn) return next;
    const length = code === CODE.lineFeed ? this.#reader.streamLength() : null;
    this.#state = length === null ? STATE.lost : STATE.stream;
    this.#streamBytesLeft = length ?? 0;
    return next;
  }

  #skipStream(chunk: Uint8Array, at: number): number {
    const end = Math.min(chunk.length, at + this.#streamBytesLeft);
    if (end > at) this.#reader.streamPart(chunk.subarray(at, end));
    this.#streamBytesLeft -= end - at;
    if (this.#streamBytesLeft === 0) this.#state = STATE.gap;
    return end;
  }
}

/** Finds words among bytes without making a string of them: a large file has millions. */
class KnownWords {
  /** By their length and first letter. */
  readonly #words: (readonly string[] | undefined)[] = [];

  constructor(words: readonly string[]) {
    for (const word of words) {
      const key = keyOf(word.length, word.charCodeAt(0));
      this.#words[key] = [...(this.#words[key] ?? []), word];
    }
  }

  /** Empty if there is none. */
  find(bytes: Uint8Array, length: number): string {
    for (const word of this.#words[keyOf(length, bytes[0] ?? 0)] ?? []) {
      let at = 1;
      while (at < length && bytes[at] === word.charCodeAt(at)) at++;
      if (at >= length) return word;
    }
    return "";
  }
}

function keyOf(length: number, first: number): number {
  return length * 256 + first;
}
