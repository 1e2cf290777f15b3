/**
 * A cursor over the bytes of a JSON text (RFC 8259): grammar, string sizes and spans in one pass, without recursion,
 * copy or decoded text. A malformed text is a state, not an exception: `malformedAt` is set, every method returns "no
 * more", and the callers' loops end by themselves.
 */
import { isReadByTypst, MAX_SAFE_INTEGER_DIGITS } from "./number.ts";
import { hexDigit, type StringSpan } from "./string.ts";

const QUOTE = 0x22;
const COMMA = 0x2c;
const COLON = 0x3a;
const OPEN_BRACKET = 0x5b;
const BACKSLASH = 0x5c;
const CLOSE_BRACKET = 0x5d;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;
const MINUS = 0x2d;
const PLUS = 0x2b;
const POINT = 0x2e;
const ZERO = 0x30;
const LOWER_E = 0x65;
const LOWER_U = 0x75;
const SPACE = 0x20;

const IS_SIMPLE_ESCAPE = new Uint8Array(256);
for (const letter of '"\\/bfnrt') IS_SIMPLE_ESCAPE[letter.charCodeAt(0)] = 1;

/** Bytes of what stands for itself in a string. 0 is not one: it also stands for the end of the body. */
const IS_PLAIN = new Uint8Array(256).fill(1, SPACE);
for (const code of [QUOTE, BACKSLASH]) IS_PLAIN[code] = 0;

const HEX_VALUE = new Int8Array(256).map((_, code) => hexDigit(code));

const LITERALS = ["true", "false", "null"].map((word) => Uint8Array.from(word, (letter) => letter.charCodeAt(0)));

/** Kinds of escapes: the high digit is the bytes in the body, the low digit those of the decoded string. */
const MALFORMED_ESCAPE = 0;
const SIMPLE_ESCAPE = 0x21;
const ONE_BYTE_UNIT = 0x61;
const TWO_BYTE_UNIT = 0x62;
const THREE_BYTE_UNIT = 0x63;
/** Counts as three bytes, although UTF-8 cannot encode it. The flag distinguishes it from other units. */
const LONE_SURROGATE = 0x163;
const SURROGATE_PAIR = 0xc4;

function escapeLength(kind: number): number {
  return (kind >> 4) & 0xf;
}

function escapeSize(kind: number): number {
  return kind & 0xf;
}

function isDigit(byte: number): boolean {
  return (byte ^ ZERO) < 10;
}

export type JsonKind = "object" | "array" | "string" | "number" | "boolean" | "null";

export interface ValueObserver {
  readonly maxStringBytes: number;
  /** The outermost containers nested deeper than this are reported, and nothing inside them. */
  readonly maxDepth: number;
  /** A string over the size, or with a lone surrogate; `offset` is that of its opening quote. */
  onString(offset: number, isKey: boolean, size: number, hasLoneSurrogates: boolean): void;
  readonly watchedKeyBytes: number;
  /** The depth of the object whose keys and end are all reported, or 0. The observer may change it at any time. */
  readonly watchedDepth: number;
  /** A key of the watched size or in the watched object. Its value begins at `valueOffset`. */
  onKey(key: StringSpan, depth: number, isFirst: boolean, valueOffset: number): void;
  /** The end of the watched object, with the string read last, which may be its last value. */
  onWatchedEnd(lastString: StringSpan): void;
  onHugeNumber(offset: number): void;
  onTooDeep(offset: number): void;
}

class ContainerStack {
  #bits = new Uint8Array(64);
  depth = 0;

  push(isObject: boolean): void {
    const index = this.depth >> 3;
    if (index === this.#bits.length) {
      const grown = new Uint8Array(2 * index);
      grown.set(this.#bits);
      this.#bits = grown;
    }
    const mask = 1 << (this.depth & 7);
    const bits = this.#bits[index] ?? 0;
    this.#bits[index] = isObject ? bits | mask : bits & ~mask;
    this.depth++;
  }

  pop(): boolean {
    this.depth--;
    const outer = this.depth - 1;
    return outer >= 0 && ((this.#bits[outer >> 3] ?? 0) & (1 << (outer & 7))) !== 0;
  }
}

export class JsonCursor {
  readonly body: Uint8Array;
  position = 0;
  malformedAt = -1;

  /** The string read last. `stringStart` is the offset after its opening quote, `stringEnd` that of its closing one. */
  stringStart = 0;
  stringEnd = 0;
  stringSize = 0;
  stringHasEscapes = false;
  stringHasLoneSurrogates = false;

  readonly #stack = new ContainerStack();

  constructor(body: Uint8Array) {
    this.body = body;
  }

  get isMalformed(): boolean {
    return this.malformedAt >= 0;
  }

  skipWhitespace(): void {
    // Most requests are written without whitespace, so the case without any is only this comparison.
    if ((this.body[this.position] ?? 0) <= SPACE) this.#skipSpaces();
  }

  #skipSpaces(): void {
    const body = this.body;
    const end = body.length;
    let at = this.position;
    while (at < end) {
      const byte = body[at];
      if (byte !== SPACE && byte !== 0x0a && byte !== 0x0d && byte !== 0x09) break;
      at++;
    }
    this.position = at;
  }

  /** The kind of the value at the cursor. If no value begins there, the text is malformed and the result null. */
  peekKind(): JsonKind | null {
    const byte = this.body[this.position] ?? 0;
    if (byte === MINUS || isDigit(byte)) return "number";
    switch (byte) {
      case OPEN_BRACE:
        return "object";
      case OPEN_BRACKET:
        return "array";
      case QUOTE:
        return "string";
      case 0x74:
      case 0x66:
        return "boolean";
      case 0x6e:
        return "null";
      default:
        this.#fail(this.position);
        return null;
    }
  }

  /** Returns whether the object has a member: then its key is the string read last, and the cursor is at its value. */
  enterObject(): boolean {
    this.position++;
    this.skipWhitespace();
    if (this.body[this.position] === CLOSE_BRACE) {
      this.position++;
      return false;
    }
    return this.#readKey();
  }

  nextMember(): boolean {
    return this.#nextOrLeave(CLOSE_BRACE) && this.#readKey();
  }

  enterArray(): boolean {
    this.position++;
    this.skipWhitespace();
    if (this.body[this.position] !== CLOSE_BRACKET) return true;
    this.position++;
    return false;
  }

  nextItem(): boolean {
    return this.#nextOrLeave(CLOSE_BRACKET);
  }

  /** Returns whether a comma follows, and skips it; otherwise leaves the container, which must end with `close`. */
  #nextOrLeave(close: number): boolean {
    if (this.isMalformed) return false;
    this.skipWhitespace();
    const byte = this.body[this.position];
    if (byte === COMMA) {
      this.position++;
      this.skipWhitespace();
      return true;
    }
    if (byte !== close) return this.#fail(this.position);
    this.position++;
    return false;
  }

  /** Reads the string at the cursor. Returns whether it is well-formed: then the string fields describe it. */
  readString(): boolean {
    const body = this.body;
    const length = body.length;
    const start = this.position + 1;
    let at = start;
    let sizeSavedByEscapes = 0;
    let hasEscapes = false;
    let hasLoneSurrogates = false;
    for (;;) {
      at = this.#skipPlainBytes(at);
      const byte = at < length ? body[at] : -1;
      if (byte === QUOTE) break;
      if (byte !== BACKSLASH) return this.#fail(at);
      hasEscapes = true;
      const kind = this.#readEscape(at);
      if (kind === MALFORMED_ESCAPE) return this.#fail(at);
      if (kind === LONE_SURROGATE) hasLoneSurrogates = true;
      at += escapeLength(kind);
      sizeSavedByEscapes += escapeLength(kind) - escapeSize(kind);
    }
    this.stringStart = start;
    this.stringEnd = at;
    this.stringSize = at - start - sizeSavedByEscapes;
    this.stringHasEscapes = hasEscapes;
    this.stringHasLoneSurrogates = hasLoneSurrogates;
    this.position = at + 1;
    return true;
  }

  stringSpan(): StringSpan {
    return {
      start: this.stringStart,
      end: this.stringEnd,
      size: this.stringSize,
      hasEscapes: this.stringHasEscapes,
      hasLoneSurrogates: this.stringHasLoneSurrogates,
    };
  }

  expectEnd(): void {
    if (this.isMalformed) return;
    this.skipWhitespace();
    if (this.position < this.body.length) this.#fail(this.position);
  }

  skipValue(observer: ValueObserver | null): boolean {
    const body = this.body;
    const length = body.length;
    const stack = this.#stack;
    const maxStringBytes = observer?.maxStringBytes ?? Number.POSITIVE_INFINITY;
    const maxDepth = observer?.maxDepth ?? Number.POSITIVE_INFINITY;
    const outerDepth = stack.depth;
    let depth = 0;
    let inObject = false;

    for (;;) {
      const offset = this.position;
      const byte = offset < length ? (body[offset] ?? 0) : 0;
      if (byte === QUOTE) {
        if (!this.readString()) return false;
        if (depth <= maxDepth && (this.stringSize > maxStringBytes || this.stringHasLoneSurrogates)) {
          observer?.onString(offset, false, this.stringSize, this.stringHasLoneSurrogates);
        }
      } else if (byte === OPEN_BRACE || byte === OPEN_BRACKET) {
        depth++;
        inObject = byte === OPEN_BRACE;
        stack.push(inObject);
        if (depth === maxDepth + 1) observer?.onTooDeep(offset);
        const hasContent = inObject ? this.enterObject() : this.enterArray();
        if (this.malformedAt >= 0) return false;
        if (hasContent) {
          if (inObject && observer !== null && depth <= maxDepth) this.#observeKey(observer, depth, true);
          continue;
        }
        depth--;
        inObject = stack.pop();
      } else if (byte === MINUS || isDigit(byte)) {
        if (!this.#readNumber(depth <= maxDepth ? observer : null)) return false;
      } else if (!this.#readLiteral(byte)) {
        return false;
      }

      // A value has ended: leave the containers that end here, and go to the next value.
      for (;;) {
        if (depth === 0) {
          stack.depth = outerDepth;
          return true;
        }
        const hasMore = inObject ? this.nextMember() : this.nextItem();
        if (hasMore) {
          if (inObject && observer !== null && depth <= maxDepth) this.#observeKey(observer, depth, false);
          break;
        }
        if (this.malformedAt >= 0) return false;
        if (observer !== null && depth === observer.watchedDepth) observer.onWatchedEnd(this.stringSpan());
        depth--;
        inObject = stack.pop();
      }
    }
  }

  #observeKey(observer: ValueObserver, depth: number, isFirst: boolean): void {
    if (this.stringSize > observer.maxStringBytes || this.stringHasLoneSurrogates) {
      observer.onString(this.stringStart - 1, true, this.stringSize, this.stringHasLoneSurrogates);
    }
    if (this.stringSize === observer.watchedKeyBytes || depth === observer.watchedDepth) {
      observer.onKey(this.stringSpan(), depth, isFirst, this.position);
    }
  }

  #fail(offset: number): false {
    if (this.malformedAt < 0) this.malformedAt = offset;
    return false;
  }

  #readKey(): boolean {
    if (this.body[this.position] !== QUOTE) return this.#fail(this.position);
    if (!this.readString()) return false;
    this.skipWhitespace();
    if (this.body[this.position] !== COLON) return this.#fail(this.position);
    this.position++;
    this.skipWhitespace();
    return true;
  }

  /** The offset of the first quote, backslash or control character from `from` on, or the end of the body. */
  #skipPlainBytes(from: number): number {
    const body = this.body;
    let at = from;
    while (IS_PLAIN[body[at] ?? 0] === 1) at++;
    return at;
  }

  #readEscape(at: number): number {
    const body = this.body;
    if (at + 1 >= body.length) return MALFORMED_ESCAPE;
    const letter = body[at + 1] ?? 0;
    if (IS_SIMPLE_ESCAPE[letter] === 1) return SIMPLE_ESCAPE;
    if (letter !== LOWER_U) return MALFORMED_ESCAPE;
    const unit = this.#hexUnit(at + 2);
    if (unit < 0) return MALFORMED_ESCAPE;
    if (unit < 0x80) return ONE_BYTE_UNIT;
    if (unit < 0x800) return TWO_BYTE_UNIT;
    if (unit < 0xd800 || unit > 0xdfff) return THREE_BYTE_UNIT;
    if (unit > 0xdbff) return LONE_SURROGATE;
    const isPair = body[at + 6] === BACKSLASH && body[at + 7] === LOWER_U;
    const low = isPair ? this.#hexUnit(at + 8) : -1;
    return low >= 0xdc00 && low <= 0xdfff ? SURROGATE_PAIR : LONE_SURROGATE;
  }

  /** The UTF-16 unit written as four hexadecimal digits, or -1 if they are not hexadecimal digits. */
  #hexUnit(at: number): number {
    const body = this.body;
    if (at + 4 > body.length) return -1;
    const a = HEX_VALUE[body[at] ?? 0] ?? -1;
    const b = HEX_VALUE[body[at + 1] ?? 0] ?? -1;
    const c = HEX_VALUE[body[at + 2] ?? 0] ?? -1;
    const d = HEX_VALUE[body[at + 3] ?? 0] ?? -1;
    return (a | b | c | d) < 0 ? -1 : (a << 12) | (b << 8) | (c << 4) | d;
  }

  #readNumber(observer: ValueObserver | null): boolean {
    const body = this.body;
    const length = body.length;
    const start = this.position;
    let at = body[start] === MINUS ? start + 1 : start;
    const integerStart = at;
    if (at < length && body[at] === ZERO) at++;
    else at = this.#skipDigits(at);
    if (at === integerStart) return this.#fail(at);
    // With a long integer part or an exponent, the value may be beyond the range of a double.
    let mayBeHuge = at - integerStart > MAX_SAFE_INTEGER_DIGITS;
    if (at < length && body[at] === POINT) {
      const fractionStart = at + 1;
      at = this.#skipDigits(fractionStart);
      if (at === fractionStart) return this.#fail(at);
    }
    if (at < length && ((body[at] ?? 0) | 0x20) === LOWER_E) {
      at++;
      if (at < length && (body[at] === PLUS || body[at] === MINUS)) at++;
      const exponentStart = at;
      at = this.#skipDigits(at);
      if (at === exponentStart) return this.#fail(at);
      mayBeHuge = true;
    }
    this.position = at;
    if (mayBeHuge && observer !== null && !isReadByTypst(body, start, at)) observer.onHugeNumber(start);
    return true;
  }

  #skipDigits(from: number): number {
    const body = this.body;
    const length = body.length;
    let at = from;
    while (at < length && isDigit(body[at] ?? 0)) at++;
    return at;
  }

  #readLiteral(first: number): boolean {
    const literal = LITERALS.find((candidate) => candidate[0] === first);
    if (literal === undefined) return this.#fail(this.position);
    for (let index = 1; index < literal.length; index++) {
      if (this.body[this.position + index] !== literal[index]) return this.#fail(this.position + index);
    }
    this.position += literal.length;
    return true;
  }
}
