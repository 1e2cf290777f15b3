/**
 * Base64 inside JSON strings (RFC 4648 section 4), validated in place. Padding is required, unused bits must be zero:
 * of all texts that decode to the same bytes, exactly one is accepted.
 */
import { decodeJsonString, hexAt, type StringSpan } from "./string.ts";

const ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
const NOT_IN_ALPHABET = 0xff;
const PADDING = 0x3d;
const BACKSLASH = 0x5c;
const SLASH = 0x2f;
const LOWER_U = 0x75;

const SEXTETS = new Uint8Array(256).fill(NOT_IN_ALPHABET);
for (let value = 0; value < ALPHABET.length; value++) SEXTETS[ALPHABET.charCodeAt(value)] = value;

export function base64DecodedSize(body: Uint8Array, span: StringSpan): number | null {
  if (span.hasLoneSurrogates || span.size % 4 !== 0) return null;
  if (span.size === 0) return 0;
  return span.hasEscapes ? escapedDecodedSize(body, span) : plainDecodedSize(body, span.start, span.end);
}

/** The mistake behind a text that is no Base64, so that a message can name it. */
export type Base64Mistake =
  | "data_url"
  | "line_breaks"
  | "other_text"
  | "url_safe"
  | "spaces"
  | "cut_off"
  | "padding"
  | "other";

/** A line of Base64 has 64 or 76 characters, and of URL-safe Base64, one in 32 is not in the usual alphabet. */
const INSPECTED_CODE_UNITS = 1024;

export function base64Mistake(body: Uint8Array, span: StringSpan): Base64Mistake {
  const start = decodeJsonString(body, span, INSPECTED_CODE_UNITS);
  const last = lastCharacter(body, span);
  const inspected = start + last;
  if (/^data:/i.test(start)) return "data_url";
  if (/[^A-Za-z0-9+/=\-_ \r\n\\]/.test(start)) return "other_text";
  if (/[\r\n]/.test(inspected)) return "line_breaks";
  if (inspected.includes(" ")) return "spaces";
  if (/^[A-Za-z0-9_-]+=*$/.test(start) && /[-_]/.test(start)) return "url_safe";
  if (!/^[A-Za-z0-9+/]+={0,2}$/.test(inspected)) return "other";
  if (span.size % 4 === 1) return "cut_off";
  return span.size % 4 === 0 ? "other" : "padding";
}

function lastCharacter(body: Uint8Array, { start, end }: StringSpan): string {
  const isUnit = end - start >= 6 && body[end - 6] === BACKSLASH && body[end - 5] === LOWER_U;
  const isEscape = end - start >= 2 && body[end - 2] === BACKSLASH;
  return decodeJsonString(body, { start: Math.max(start, end - (isUnit ? 6 : isEscape ? 2 : 1)), end }, 1);
}

function plainDecodedSize(body: Uint8Array, start: number, end: number): number | null {
  let paddingLength = 0;
  if (body[end - 1] === PADDING) paddingLength = body[end - 2] === PADDING ? 2 : 1;
  const alphabetEnd = end - paddingLength;
  if (!isAlphabetOnly(body, start, alphabetEnd)) return null;
  return decodedSize(end - start, paddingLength, SEXTETS[body[alphabetEnd - 1] ?? 0] ?? NOT_IN_ALPHABET);
}

function isAlphabetOnly(body: Uint8Array, start: number, end: number): boolean {
  let at = start;
  while (at < end && SEXTETS[body[at] ?? 0] !== NOT_IN_ALPHABET) at++;
  return at === end;
}

/** As `plainDecodedSize`, for a text with JSON escapes: `\/` is common. */
function escapedDecodedSize(body: Uint8Array, span: StringSpan): number | null {
  let paddingLength = 0;
  let lastSextet = NOT_IN_ALPHABET;
  for (let at = span.start; at < span.end; ) {
    let code = body[at] ?? 0;
    if (code === BACKSLASH) {
      const letter = body[at + 1];
      if (letter !== SLASH && letter !== LOWER_U) return null;
      code = letter === SLASH ? SLASH : hexAt(body, at + 2);
      at += letter === SLASH ? 2 : 6;
    } else {
      at++;
    }
    if (code === PADDING) {
      paddingLength++;
      continue;
    }
    lastSextet = SEXTETS[code] ?? NOT_IN_ALPHABET;
    if (paddingLength > 0 || lastSextet === NOT_IN_ALPHABET) return null;
  }
  return paddingLength > 2 ? null : decodedSize(span.size, paddingLength, lastSextet);
}

/** The decoded size of a text of `length` characters, or null if unused bits before the padding are set. */
function decodedSize(length: number, paddingLength: number, lastSextet: number): number | null {
  const bitsLeftOver = 2 * paddingLength;
  if (lastSextet === NOT_IN_ALPHABET || (lastSextet & ((1 << bitsLeftOver) - 1)) !== 0) return null;
  return (length / 4) * 3 - paddingLength;
}
