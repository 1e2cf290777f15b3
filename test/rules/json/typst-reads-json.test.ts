/** What the rules assume about Typst's JSON parser, compared with Typst itself on thousands of texts. */
import fc from "fast-check";
import { expect, it } from "vitest";
import { errorsOf, problemOf } from "../../support/rules/bodies.ts";
import { changedByTypst, rejectionsByTypst } from "../../support/rules/json-reader-of-typst.ts";
import { borderNumberText, dateText, numberText } from "../../support/rules/request-arbitraries.ts";

const KEY = '"$__toml_private_datetime"';

/** Whether the object itself is rejected, whatever is in it. */
function isRefused(object: string): boolean {
  const errors = errorsOf(problemOf(`{"source":"x","data":${object}}`));
  return errors.includes("data.$__toml_private_datetime: reserved_key");
}

const value = fc.oneof(
  { weight: 8, arbitrary: dateText.map((text) => JSON.stringify(text)) },
  { weight: 1, arbitrary: fc.constantFrom("1", "null", '["2020-01-01"]', '{"a":"2020-01-01"}', `{${KEY}:"12:00:00"}`) },
);
const member = fc
  .tuple(
    fc.oneof(
      { weight: 8, arbitrary: fc.constantFrom(KEY, '"\\u0024__toml_private_datetime"') },
      { weight: 1, arbitrary: fc.constantFrom('"a"', '"$__toml_private_datetimf"') },
    ),
    value,
  )
  .map((pair) => pair.join(":"));
const object = fc.array(member, { minLength: 1, maxLength: 3 }).map((members) => `{${members.join(",")}}`);

it("an object is rejected exactly where Typst makes a date of it", async () => {
  const texts = [
    ...new Set([
      ...fc.sample(object, 4000),
      ...fc.sample(
        dateText.map((text) => `{${KEY}:"${text}"}`),
        4000,
      ),
    ]),
  ];
  const changed = await changedByTypst(texts);
  expect(texts.filter((text, index) => isRefused(text) !== changed.has(index))).toEqual([]);
  expect(changed.size).toBeGreaterThan(texts.length / 20);
  expect(changed.size).toBeLessThan(texts.length / 2);
});

it("a number is rejected exactly where Typst rejects it", async () => {
  const texts = [...new Set(fc.sample(fc.oneof(borderNumberText, borderNumberText, numberText), 6000))];
  const rejections = await rejectionsByTypst(texts);
  const isRejectedHere = (text: string) => errorsOf(problemOf(`{"source":"x","data":${text}}`)).length > 0;
  expect(new Set(rejections.values())).toEqual(new Set(["number out of range"]));
  expect(texts.filter((text, index) => isRejectedHere(text) !== rejections.has(index))).toEqual([]);
  expect(rejections.size).toBeGreaterThan(texts.length / 10);
  expect(texts.length - rejections.size).toBeGreaterThan(texts.length / 10);
});
