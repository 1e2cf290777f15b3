/**
 * Numbers that no double holds, told without reading them as numbers.
 */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { isHeldByDouble } from "../../rules/json-number.ts";
import { bodyOf } from "./bodies.ts";
import { numberText } from "./request-arbitraries.ts";

/** Judges the number within other bytes: more digits before it and after it must not count. */
function isHeld(text: string): boolean {
  const body = bodyOf(`9${text}9`);
  return isHeldByDouble(body, 1, body.length - 1);
}

const digits = (maxLength: number) => fc.string({ unit: fc.constantFrom(..."0123456789"), minLength: 1, maxLength });
const integer = fc.oneof(
  fc.constant("0"),
  fc.tuple(fc.constantFrom(..."123456789"), digits(330)).map(([first, rest]) => first + rest),
  fc
    .tuple(fc.constantFrom("1", "17976931348623157", "17976931348623158", "17976931348623159", "2"), fc.nat(320))
    .map(([first, zeros]) => first + "0".repeat(zeros)),
);
const fraction = fc.oneof(
  fc.constant(""),
  digits(30).map((text) => `.${text}`),
  fc.tuple(fc.nat(340), digits(340)).map(([zeros, text]) => `.${"0".repeat(zeros)}${text}`),
);
const exponent = fc.oneof(
  fc.constant(""),
  fc
    .tuple(
      fc.constantFrom("e", "E"),
      fc.constantFrom("", "+", "-"),
      fc.oneof(fc.integer({ min: 0, max: 700 }), fc.constantFrom(307, 308, 309, 400)),
    )
    .map(([letter, sign, value]) => letter + sign + value),
  fc.constantFrom(
    "e0000308",
    "e99999999999999999999",
    "e-99999999999999999999",
    "e1000000000",
    "e-1000000000",
    "e+000",
  ),
);
const anyNumber = fc.tuple(fc.constantFrom("", "-"), integer, fraction, exponent).map((parts) => parts.join(""));

describe("a number", () => {
  it("is held by a double exactly where Number reads it as finite", () => {
    fc.assert(
      fc.property(fc.oneof(anyNumber, numberText), (text) => {
        expect(isHeld(text)).toBe(Number.isFinite(Number(text)));
      }),
      { numRuns: 20_000 },
    );
  });

  it.each([
    ["1.7976931348623157e308", true],
    ["1.7976931348623158e308", true],
    ["1.7976931348623159e308", false],
    ["179769313486231570.00e291", true],
    ["0.00017976931348623159e312", false],
    ["1e308", true],
    ["9.99e307", true],
    ["1e309", false],
    ["-1e309", false],
    ["0.1e309", true],
    ["0.9e309", false],
    ["1e-400", true],
    ["0e400", true],
    ["-0.000e99999", true],
    [`0.${"0".repeat(400)}1e700`, true],
    [`0.${"0".repeat(400)}1e710`, false],
    [`1${"0".repeat(400)}e-100`, true],
    [`1${"0".repeat(400)}e-92`, true],
    [`1${"0".repeat(400)}e-91`, false],
  ])("is judged right for %s: %s", (text, expected) => {
    expect(Number.isFinite(Number(text))).toBe(expected);
    expect(isHeld(text)).toBe(expected);
  });

  it("is decided at the least integer that rounds to infinity, whatever digits follow it", () => {
    const least = 2n ** 1024n - 2n ** 970n;
    for (const difference of [-2n, -1n, 0n, 1n]) {
      const text = String(least + difference);
      expect(text).toHaveLength(309);
      for (const written of [text, `${text}.0`, `${text}.999`, `-${text}${"9".repeat(10)}e-10`, `0.${text}e309`]) {
        expect(isHeld(written)).toBe(difference < 0n);
      }
    }
  });

  it("may be as long as a body", () => {
    expect(isHeld(`0.${"0".repeat(1_000_000)}1e1000309`)).toBe(true);
    expect(isHeld(`0.${"0".repeat(1_000_000)}1e1000310`)).toBe(false);
    expect(isHeld(`${"9".repeat(1_000_000)}e-999692`)).toBe(true);
    expect(isHeld(`${"9".repeat(1_000_000)}e-999691`)).toBe(false);
  });
});
