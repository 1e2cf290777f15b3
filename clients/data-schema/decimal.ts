/**
 * Decimal numbers as written in JSON, compared without rounding: `9007199254740993` is not `9007199254740992` here,
 * although both are the same double.
 */

export interface Decimal {
  readonly isNegative: boolean;
  /** Without zeros at either end; empty for zero. */
  readonly digits: string;
  /** The power of ten of the last digit. */
  readonly exponent: number;
}

/** Larger exponents are not distinguished: no number that a service accepts comes near. */
const MAX_EXPONENT = 1e15;
const ZERO: Decimal = { isNegative: false, digits: "", exponent: 0 };

/** The value of a JSON number. */
export function decimalOf(text: string): Decimal {
  const [mantissa = "", power = "0"] = text.toLowerCase().split("e");
  const isNegative = mantissa.startsWith("-");
  const [whole = "", fraction = ""] = mantissa.slice(isNegative ? 1 : 0).split(".");
  const all = whole + fraction;
  let start = 0;
  while (all[start] === "0") start++;
  let end = all.length;
  while (end > start && all[end - 1] === "0") end--;
  if (start === end) return ZERO;
  const given = Math.min(Math.max(Number(power), -MAX_EXPONENT), MAX_EXPONENT);
  return { isNegative, digits: all.slice(start, end), exponent: given - fraction.length + (all.length - end) };
}

/** The same text for equal values. */
export function canonicalText({ isNegative, digits, exponent }: Decimal): string {
  return digits === "" ? "0" : `${isNegative ? "-" : ""}${digits}e${exponent}`;
}

/** Negative, zero or positive: as the left one is smaller than the right one, equal to it, or larger. */
export function compareDecimals(left: Decimal, right: Decimal): number {
  if (signOf(left) !== signOf(right)) return signOf(left) - signOf(right);
  return signOf(left) * compareMagnitudes(left, right);
}

export function isInteger({ exponent }: Decimal): boolean {
  return exponent >= 0;
}

/** Whether a number is a whole multiple of another one, which must not be zero. */
export function isMultiple(number: Decimal, of: Decimal): boolean {
  if (number.digits === "" || of.digits === "") return number.digits === "";
  // A multiple has no digit below the last digit of its divisor.
  const shift = number.exponent - of.exponent;
  if (shift < 0) return false;
  const modulus = BigInt(of.digits);
  return ((BigInt(number.digits) % modulus) * powerOfTen(shift, modulus)) % modulus === 0n;
}

function signOf({ digits, isNegative }: Decimal): number {
  if (digits === "") return 0;
  return isNegative ? -1 : 1;
}

function compareMagnitudes(left: Decimal, right: Decimal): number {
  const byLength = left.digits.length + left.exponent - (right.digits.length + right.exponent);
  if (byLength !== 0) return byLength;
  if (left.digits === right.digits) return 0;
  return left.digits < right.digits ? -1 : 1;
}

/** A power of ten, modulo a number: the power itself may have any number of digits. */
function powerOfTen(power: number, modulus: bigint): bigint {
  let result = 1n % modulus;
  let square = 10n % modulus;
  for (let rest = BigInt(power); rest > 0n; rest >>= 1n) {
    if (rest & 1n) result = (result * square) % modulus;
    square = (square * square) % modulus;
  }
  return result;
}
