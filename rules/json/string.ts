/**
 * JSON strings as spans of a body, and their decoding where a few characters are wanted.
 *
 * Big strings are never decoded here. What is decoded (keys, enum values, names) is cut at a length that the caller
 * gives, so a hostile name costs no more than a friendly one.
 */

/** A JSON string inside a body that has been scanned: no byte of it is copied. */
export interface StringSpan {
  /** Offset of the first byte after the opening quote. */
  readonly start: number;
  /** Offset of the closing quote. */
  readonly end: number;
  /** Size of the decoded string in UTF-8 bytes. */
  readonly size: number;
  /** Whether the bytes hold an escape. Where not, they are the decoded string. */
  readonly hasEscapes: boolean;
  /** Whether the decoded string holds a lone surrogate, which UTF-8 cannot carry. */
  readonly hasLoneSurrogates: boolean;
}

const BACKSLASH = 0x5c;
const LOWER_U = 0x75;
const MAX_CODE_POINT = 0x10ffff;
const MAX_RUN_BYTES = 4096;
const MAX_SHORT_RUN_BYTES = 12;

/** What each one-letter escape stands for, by the letter's code. */
const SIMPLE_ESCAPES: ReadonlyMap<number, string> = new Map([
  [0x22, '"'],
  [0x5c, "\\"],
  [0x2f, "/"],
  [0x62, "\b"],
  [0x66, "\f"],
  [0x6e, "\n"],
  [0x72, "\r"],
  [0x74, "\t"],
]);

/**
 * Decodes a string of scanned JSON, lone surrogates kept.
 *
 * @param maxCodeUnits where to stop: the result has at most one UTF-16 unit more.
 */
export function decodeJsonString(body: Uint8Array, span: { start: number; end: number }, maxCodeUnits: number): string {
  let text = "";
  let offset = span.start;
  while (offset < span.end && text.length < maxCodeUnits) {
    const byte = body[offset] ?? 0;
    if (byte === BACKSLASH) {
      const letter = body[offset + 1] ?? 0;
      text += letter === LOWER_U ? String.fromCharCode(hexAt(body, offset + 2)) : (SIMPLE_ESCAPES.get(letter) ?? "");
      offset += letter === LOWER_U ? 6 : 2;
    } else if (byte < 0x80) {
      const runEnd = plainRunEnd(body, offset, Math.min(span.end, offset + maxCodeUnits - text.length));
      text += asciiText(body, offset, runEnd);
      offset = runEnd;
    } else {
      const length = utf8SequenceLength(byte);
      text += String.fromCodePoint(codePointAt(body, offset, length));
      offset += length;
    }
  }
  return text;
}

function asciiText(body: Uint8Array, start: number, end: number): string {
  // A view costs more than a field name's few characters do.
  if (end - start > MAX_SHORT_RUN_BYTES)
    return Reflect.apply(String.fromCharCode, undefined, body.subarray(start, end));
  let text = "";
  for (let at = start; at < end; at++) text += String.fromCharCode(body[at] ?? 0);
  return text;
}

/** Where the ASCII characters without escapes that begin at `start` end; no further than one call can take arguments. */
function plainRunEnd(body: Uint8Array, start: number, end: number): number {
  const stop = Math.min(end, start + MAX_RUN_BYTES);
  let at = start;
  while (at < stop && (body[at] ?? 0) < 0x80 && body[at] !== BACKSLASH) at++;
  return at;
}

/** The value of the four hexadecimal digits at `offset`, which a scan has found to be such. */
export function hexAt(body: Uint8Array, offset: number): number {
  let value = 0;
  for (let index = offset; index < offset + 4; index++) value = value * 16 + hexDigit(body[index] ?? 0);
  return value;
}

/** The value of a hexadecimal digit's code, or -1. */
export function hexDigit(code: number): number {
  if (code >= 0x30 && code <= 0x39) return code - 0x30;
  const lower = code | 0x20;
  if (lower >= 0x61 && lower <= 0x66) return lower - 0x61 + 10;
  return -1;
}

function utf8SequenceLength(lead: number): number {
  if (lead < 0x80) return 1;
  if (lead < 0xe0) return 2;
  return lead < 0xf0 ? 3 : 4;
}

function codePointAt(body: Uint8Array, offset: number, length: number): number {
  const lead = body[offset] ?? 0;
  if (length === 1) return lead;
  let value = lead & (0xff >> (length + 1));
  for (let index = offset + 1; index < offset + length; index++) value = value * 64 + ((body[index] ?? 0) & 0x3f);
  // Strings are decoded while the body is read, before it is known to be UTF-8: then any character will do.
  return Math.min(value, MAX_CODE_POINT);
}
