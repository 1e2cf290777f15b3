/** The slow JSON reader against `JSON.parse`, since other tests compare with the slow reader. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { jsonLikeText, wildValueText } from "./request-arbitraries.ts";
import { runs } from "./runs.ts";
import { type JsonNode, readJson } from "./slow-json.ts";

/** The value that `JSON.parse` returns for the tree: the last of duplicate keys wins. */
function javaScriptValue(node: JsonNode): unknown {
  switch (node.kind) {
    case "null":
      return null;
    case "boolean":
    case "string":
      return node.value;
    case "number":
      return Number(node.text);
    case "array":
      return node.items.map(javaScriptValue);
    case "object":
      // `fromEntries` makes `__proto__` an own property, as `JSON.parse` does.
      return Object.fromEntries(node.members.map(({ key, value }) => [key, javaScriptValue(value)]));
  }
}

function parsed(text: string): { value: unknown } | null {
  try {
    return { value: JSON.parse(text) };
  } catch {
    return null;
  }
}

describe("the slow JSON reader", () => {
  it("accepts, rejects and reads texts as JSON.parse does", () => {
    fc.assert(
      fc.property(jsonLikeText, (text) => {
        const node = readJson(text);
        expect(node && { value: javaScriptValue(node) }).toEqual(parsed(text));
      }),
      { numRuns: runs(6000) },
    );
  });

  it("says where a value stands", () => {
    fc.assert(
      fc.property(wildValueText, (text) => {
        const node = readJson(` ${text}\n`);
        expect(node && ` ${text}\n`.slice(node.start, node.end)).toBe(text);
      }),
      { numRuns: runs(500) },
    );
  });

  it("keeps repeated keys, their order and the text of numbers", () => {
    const node = readJson('{"b":1.0,"a":-0e5,"b":1}');
    expect(
      node?.kind === "object" && node.members.map(({ key, value }) => [key, "text" in value && value.text]),
    ).toEqual([
      ["b", "1.0"],
      ["a", "-0e5"],
      ["b", "1"],
    ]);
  });

  it.each([
    "",
    " ",
    "[1,]",
    '{"a":1,}',
    "01",
    "1.",
    ".5",
    "+1",
    "-",
    "1e",
    "tru",
    "nulll",
    "'a'",
    '"\t"',
    '"\\x"',
    '"\\u12g4"',
    "\u00a01",
  ])("rejects %j", (text) => {
    expect(readJson(text)).toBeNull();
  });
});
