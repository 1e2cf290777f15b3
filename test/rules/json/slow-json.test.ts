/** The slow JSON reader against `JSON.parse`, since other tests compare with the slow reader. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { jsonLikeText, wildValueText } from "../../support/rules/request-arbitraries.ts";
import { runs } from "../../support/rules/runs.ts";
import { type JsonNode, readJson } from "../../support/rules/slow-json.ts";

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

/**
 * A member name with a backslash in it, or what could be one. Such texts are not given to `JSON.parse`: it takes a later
 * name that begins with an escape for the one that it has seen there before (nodejs/node#63785, V8 14.6 among others).
 */
const NAME_WITH_BACKSLASH = /(?:\\\\|\\u005[cC])(?:[^"\\]|\\.)*"[ \t\r\n]*:/s;

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
        fc.pre(!NAME_WITH_BACKSLASH.test(text));
        const node = readJson(text);
        expect(node && { value: javaScriptValue(node) }).toEqual(parsed(text));
      }),
      { numRuns: runs(6000) },
    );
  });

  it.each([
    ['{"x":1,"\\\\":2}', ["x", "\\"]],
    ['{"x":1,"\\u005C":2}', ["x", "\\"]],
    ['{"x":1,"\\u0061":2}', ["x", "a"]],
    ['{"x":1,"\\"":2}', ["x", '"']],
    ['{"x":1,"\\\\u":2,"\\u0061b":3}', ["x", "\\u", "ab"]],
  ])("reads escapes in member names, those of a backslash too: %s", (text, names) => {
    const node = readJson(text);
    expect(node?.kind === "object" && node.members.map(({ key }) => key)).toEqual(names);
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
