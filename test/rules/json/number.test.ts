/** Numbers at the bound of what Typst reads, and as long as a body. Others: typst-reads-json.test.ts, by Typst itself. */
import { expect, it } from "vitest";
import { isReadByTypst } from "../../../rules/json/number.ts";
import { bodyOf } from "../../support/rules/bodies.ts";

const ZEROS = "0".repeat(1_000_000);

it.each([
  ["1.7976931348623157e308", true],
  // It rounds to the largest double, and Typst rejects it.
  ["1.7976931348623158e308", false],
  // The value of the first: with 19 digits the first factor rounds another way.
  ["1.797693134862315700e308", false],
  [`0.${ZEROS}1e1000309`, true],
  [`0.${ZEROS}1e1000310`, false],
  [`${"1".repeat(1_000_000)}e-999691`, true],
  [`${"9".repeat(1_000_000)}e-999692`, true],
  [`${"9".repeat(1_000_000)}e-999691`, false],
])("Typst reads %.30s, or does not: %s", (text, expected) => {
  // The digits before and after it must not count.
  const body = bodyOf(`9${text}9`);
  expect(isReadByTypst(body, 1, body.length - 1)).toBe(expected);
});
