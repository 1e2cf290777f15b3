/** JSON strings as spans of a body. Only keys, enum values and names are decoded, up to a length that is given. */

export interface StringSpan {
  readonly start: number;
  readonly end: number;
  readonly size: number;
  /** Whether the bytes contain an escape. If not, they are the decoded string. */
  readonly hasEscapes: boolean;
  /** Whether the decoded string contains a lone surrogate, which UTF-8 cannot encode. */
  readonly hasLoneSurrogates: boolean;
}

const BACKSLASH = 0x5c;
const LOWER_U = 0x75;
const MAX_CODE_POINT = 0x10ffff;
const MAX_RUN_BYTES = 4096;
const MAX_SHORT_RUN_BYTES = 48;

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

/** Lone surrogates are kept. @param maxCodeUnits at which to stop: the result has at most one UTF-16 unit more */
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
      if (runEnd - offset > MAX_SHORT_RUN_BYTES) {
        text += Reflect.apply(String.fromCharCode, undefined, body.subarray(offset, runEnd));
      } else {
        // A view takes longer than a name: with one for each, 20 MB of short keys took 1.6 s instead of 0.5.
        for (let at = offset; at < runEnd; at++) text += String.fromCharCode(body[at] ?? 0);
      }
      offset = runEnd;
    } else {
      const length = utf8SequenceLength(byte);
      text += String.fromCodePoint(codePointAt(body, offset, length));
      offset += length;
    }
  }
  return text;
}

/** The end of the run of unescaped ASCII characters at `start`, limited to the number of arguments of one call. */
function plainRunEnd(body: Uint8Array, start: number, end: number): number {
  const stop = Math.min(end, start + MAX_RUN_BYTES);
  let at = start;
  while (at < stop && (body[at] ?? 0) < 0x80 && body[at] !== BACKSLASH) at++;
  return at;
}

/** The value of the four hexadecimal digits at `offset`, which have been validated. */
export function hexAt(body: Uint8Array, offset: number): number {
  let value = 0;
  for (let index = offset; index < offset + 4; index++) value = value * 16 + hexDigit(body[index] ?? 0);
  return value;
}

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
  // Strings are decoded before the body is known to be UTF-8. If it is not, it is rejected, and the character does not
  // matter.
  return Math.min(value, MAX_CODE_POINT);
}

/** The name that equals a scanned JSON string, or null. @param names ASCII. */
export function findName<Name extends string>(names: readonly Name[], body: Uint8Array, span: StringSpan): Name | null {
  const { start, size, hasEscapes } = span;
  for (const name of names) {
    if (name.length !== size) continue;
    if (hasEscapes ? decodeJsonString(body, span, size + 1) === name : isAt(body, start, name)) return name;
  }
  return null;
}

function isAt(body: Uint8Array, start: number, name: string): boolean {
  for (let index = 0; index < name.length; index++) {
    if (body[start + index] !== name.charCodeAt(index)) return false;
  }
  return true;
}
