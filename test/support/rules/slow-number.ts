/** Which numbers Typst's JSON parser rejects, computed with big integers: every step of its arithmetic is explicit. */

const MAX_UINT64 = 2n ** 64n - 1n;
/** The least integer that rounds to infinity: half a unit in the last place above the largest double. */
const LEAST_INFINITE = 2n ** 1024n - 2n ** 970n;
const MAX_POWER = 308n;

/** Whether Typst reads this JSON number, rather than rejecting it as out of range. */
export function isReadByTypstSlowly(text: string): boolean {
  const [, integer = "", fraction = "", exponentText = "0"] =
    /^-?(\d+)(?:\.(\d+))?(?:[eE]\+?(-?\d+))?$/.exec(text) ?? [];
  if (integer === "") throw new Error(`no JSON number: ${text}`);
  const digits = (integer + fraction).replace(/^0+/, "");
  if (digits === "") return true;

  let kept = 1;
  while (kept < digits.length && BigInt(digits.slice(0, kept + 1)) <= MAX_UINT64) kept++;
  const significand = rounded(BigInt(digits.slice(0, kept)));
  const exponent = BigInt(exponentText) - BigInt(fraction.length) + BigInt(digits.length - kept);
  if (exponent < 0n) return true;
  return exponent <= MAX_POWER && significand * rounded(10n ** exponent) < LEAST_INFINITE;
}

/** An integer rounded to the 53 bits of a double, ties to even. */
function rounded(value: bigint): bigint {
  const excess = value.toString(2).length - 53;
  if (excess <= 0) return value;
  const unit = 2n ** BigInt(excess);
  const rest = value % unit;
  const lower = value - rest;
  const isUp = 2n * rest > unit || (2n * rest === unit && (lower / unit) % 2n === 1n);
  return isUp ? lower + unit : lower;
}
