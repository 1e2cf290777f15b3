/** Numbers that Typst rejects, found without parsing them, compared with arithmetic on big integers. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { isReadByTypst } from "../../../rules/json/number.ts";
import { bodyOf } from "../../support/rules/bodies.ts";
import { borderNumberText, numberText } from "../../support/rules/request-arbitraries.ts";
import { runs } from "../../support/rules/runs.ts";
import { isReadByTypstSlowly } from "../../support/rules/slow-number.ts";

/** The verdict on a number between other bytes: the digits before and after it must not count. */
function isRead(text: string): boolean {
  const body = bodyOf(`9${text}9`);
  return isReadByTypst(body, 1, body.length - 1);
}

describe("a number", () => {
  it("is read exactly where the formulation with big integers reads it", () => {
    fc.assert(
      fc.property(fc.oneof(numberText, borderNumberText), (text) => {
        expect(isRead(text)).toBe(isReadByTypstSlowly(text));
      }),
      { numRuns: runs(10_000) },
    );
  });

  it.each([
    ["1.7976931348623157e308", true],
    // It rounds to the largest double, and Typst rejects it.
    ["1.7976931348623158e308", false],
    // The value of the first: with 19 digits the first factor rounds another way.
    ["1.797693134862315700e308", false],
  ])("that is the largest or one past it has the verdict of Typst: %s %s", (text, expected) => {
    expect([isRead(text), isReadByTypstSlowly(text)]).toEqual([expected, expected]);
  });

  it("may be as long as a body", () => {
    expect(isRead(`0.${"0".repeat(1_000_000)}1e1000309`)).toBe(true);
    expect(isRead(`0.${"0".repeat(1_000_000)}1e1000310`)).toBe(false);
    expect(isRead(`${"1".repeat(1_000_000)}e-999691`)).toBe(true);
    expect(isRead(`${"9".repeat(1_000_000)}e-999692`)).toBe(true);
    expect(isRead(`${"9".repeat(1_000_000)}e-999691`)).toBe(false);
  });
});
