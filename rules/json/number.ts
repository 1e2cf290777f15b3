/**
 * Finds JSON numbers that Typst rejects as out of range, in place: a number may be as long as the body.
 *
 * Typst 0.15.1 reads numbers by serde_json, which takes the first 19 or 20 significant digits, as many as fit into 64
 * bits, rounds them to a double and multiplies that by a power of ten, itself rounded. So near the largest double the
 * spelling decides: 1.7976931348623157e308 is read, 1.797693134862315700e308 is not. This code takes the same steps.
 */

/** An integer of this many digits or fewer, without an exponent, is below the largest double. */
export const MAX_SAFE_INTEGER_DIGITS = 308;

const MAX_MAGNITUDE = 308;

/** Larger exponents count as this: the result is the same for every number that fits into a body. */
const EXPONENT_CAP = 1_000_000_000;

/** No integer of more digits fits into 64 bits; Typst ignores the others. */
const MAX_UINT64_DIGITS = 20;
const UINT32_RANGE = 2 ** 32;

/** The factor for a number of magnitude 308, by the number of its digits minus one. */
const POWERS_OF_TEN = Float64Array.from({ length: MAX_UINT64_DIGITS }, (_, index) =>
  Number(`1e${MAX_MAGNITUDE - index}`),
);

const POINT = 0x2e;
const MINUS = 0x2d;
const PLUS = 0x2b;
const ZERO = 0x30;

export function isReadByTypst(body: Uint8Array, start: number, end: number): boolean {
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
  if (magnitude !== MAX_MAGNITUDE) return magnitude < MAX_MAGNITUDE;
  return Number.isFinite(readAsTypst(body, firstDigitOffset, mantissaEnd));
}

function readAsTypst(body: Uint8Array, firstDigitOffset: number, mantissaEnd: number): number {
  // 64 bits in two halves: each is exact as a double, so their sum is rounded once, as in Rust. If 20 digits do not fit
  // into 64 bits, the number is 1.8e308 or more and out of range either way.
  let high = 0;
  let low = 0;
  let digits = 0;
  for (let offset = firstDigitOffset; offset < mantissaEnd && digits < MAX_UINT64_DIGITS; offset++) {
    const byte = body[offset] ?? ZERO;
    if (byte === POINT) continue;
    const nextLow = low * 10 + byte - ZERO;
    high = high * 10 + Math.floor(nextLow / UINT32_RANGE);
    low = nextLow % UINT32_RANGE;
    digits++;
  }
  return (high * UINT32_RANGE + low) * (POWERS_OF_TEN[digits - 1] ?? 0);
}

function exponentAt(body: Uint8Array, at: number, end: number): number {
  const sign = body[at + 1];
  let exponent = 0;
  for (let offset = sign === MINUS || sign === PLUS ? at + 2 : at + 1; offset < end; offset++) {
    exponent = Math.min(EXPONENT_CAP, exponent * 10 + (body[offset] ?? ZERO) - ZERO);
  }
  return sign === MINUS ? -exponent : exponent;
}
