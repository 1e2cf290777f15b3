/**
 * JSON numbers that no double holds, found without reading them as a whole: a number may be as long as the body.
 */

/** An integer of this many digits or fewer, without an exponent, is below the largest double. */
export const MAX_SAFE_INTEGER_DIGITS = 308;

/** Exponents are counted only so far: past it the answer is the same for every body that fits a request. */
const EXPONENT_CAP = 1_000_000_000;

const POINT = 0x2e;
const MINUS = 0x2d;
const PLUS = 0x2b;
const ZERO = 0x30;

/**
 * Whether the JSON number from `start` to `end` rounds to a finite double.
 *
 * Only the decimal exponent of the first significant digit is needed, but for values next to the largest double: there
 * the first 309 digits decide, because the least value that rounds to infinity is an integer of 309 digits.
 */
export function isHeldByDouble(body: Uint8Array, start: number, end: number): boolean {
  let firstDigitOffset = -1;
  let pointOffset = -1;
  let at = body[start] === MINUS ? start + 1 : start;
  const integerStart = at;
  for (; at < end && ((body[at] ?? 0) | 0x20) !== 0x65; at++) {
    const byte = body[at];
    if (byte === POINT) pointOffset = at;
    else if (byte !== ZERO && firstDigitOffset < 0) firstDigitOffset = at;
  }
  if (firstDigitOffset < 0) return true;
  const mantissaEnd = at;
  const integerDigits = (pointOffset < 0 ? mantissaEnd : pointOffset) - integerStart;
  const place = firstDigitOffset - integerStart - (pointOffset >= 0 && firstDigitOffset > pointOffset ? 1 : 0);
  const magnitude = integerDigits - 1 - place + exponentAt(body, mantissaEnd, end);
  if (magnitude !== MAX_SAFE_INTEGER_DIGITS) return magnitude < MAX_SAFE_INTEGER_DIGITS;

  let digits = "";
  for (let offset = firstDigitOffset; offset < mantissaEnd && digits.length <= MAX_SAFE_INTEGER_DIGITS; offset++) {
    if (body[offset] !== POINT) digits += String.fromCharCode(body[offset] ?? ZERO);
  }
  return Number.isFinite(Number(digits.padEnd(MAX_SAFE_INTEGER_DIGITS + 1, "0")));
}

/** The value of the exponent part that begins at `at`, or 0 where there is none; capped. */
function exponentAt(body: Uint8Array, at: number, end: number): number {
  if (at >= end) return 0;
  const sign = body[at + 1];
  let exponent = 0;
  for (let offset = sign === MINUS || sign === PLUS ? at + 2 : at + 1; offset < end; offset++) {
    exponent = Math.min(EXPONENT_CAP, exponent * 10 + (body[offset] ?? ZERO) - ZERO);
  }
  return sign === MINUS ? -exponent : exponent;
}
