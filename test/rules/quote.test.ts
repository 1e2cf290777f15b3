/** Text of the caller in a response: always encodable, never long. */
import fc from "fast-check";
import { expect, it } from "vitest";
import { escapeLoneSurrogates, quote, shorten, shortenPath } from "../../rules/quote.ts";
import { runs } from "../support/rules/runs.ts";

it.each([
  ["abc", "abc"],
  ["\ud83d\ude00", "\ud83d\ude00"],
  ["\ud800", "\\ud800"],
  ["a\udfffb", "a\\udfffb"],
  ["\ude00\ud83d", "\\ude00\\ud83d"],
  ["\ud83d\ud83d\ude00\ude00", "\\ud83d\ud83d\ude00\\ude00"],
  ["", ""],
])("lone surrogates in %j are written out: %j", (text, expected) => {
  expect(escapeLoneSurrogates(text)).toBe(expected);
});

const unit = fc.constantFrom("a", "é", "\u{1f600}", "\ud800", "\udc00");

it("shortened text is that of a plain formulation, for any text and bound", () => {
  fc.assert(
    fc.property(fc.string({ unit, maxLength: 40 }), fc.integer({ min: 1, max: 30 }), (text, bound) => {
      const characters = Array.from(escapeLoneSurrogates(text));
      const expected = characters.length > bound ? `${characters.slice(0, bound - 1).join("")}…` : characters.join("");
      expect(shorten(text, bound)).toBe(expected);
    }),
    { numRuns: runs(3000) },
  );
});

it("a path keeps its indices and has each string shortened by itself", () => {
  expect(shortenPath(["k".repeat(81), 1_000_000, "k".repeat(80), "\udfff"])).toEqual([
    `${"k".repeat(79)}…`,
    1_000_000,
    "k".repeat(80),
    "\\udfff",
  ]);
});

it("a quotation has its marks outside of the bound", () => {
  expect(quote("a")).toBe('"a"');
  expect(quote("a".repeat(81))).toBe(`"${"a".repeat(79)}…"`);
});
