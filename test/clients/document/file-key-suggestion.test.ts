/** Valid keys for names that the rules refuse. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { suggestFileKey, suggestFileKeys } from "../../../clients/document/file-key-suggestion.ts";
import { isValidKey, validateFileSet } from "../../../rules/files-rules.ts";
import { DEFAULT_LIMITS } from "../../../rules/limits.ts";
import { ANY_CHARACTER } from "../../support/any-character.ts";

describe("a suggested key", () => {
  it.each([
    ["größe.txt", "groesse.txt"],
    ["gro\u0308ße.txt", "groesse.txt"],
    ["café crème.typ", "cafe-creme.typ"],
    ["Łódź ışık.csv", "Lodz-isik.csv"],
    ["My file (1).png", "My-file-1.png"],
    ["ﬁgure①.svg", "figure1.svg"],
    ["写真.png", "file.png"],
    ["assets\\new logo.png", "assets/new-logo.png"],
    ["C:\\Users\\me\\logo.png", "logo.png"],
    ["https://example.com/a/logo 2.png", "logo-2.png"],
    ["./lib//x.typ", "lib/x.typ"],
    ["../shared/lib.typ", "shared/lib.typ"],
    ["", "file"],
    [`${"a".repeat(300)}.png`, `${"a".repeat(251)}.png`],
    [`${"x/".repeat(300)}logo.png`, `${"x/".repeat(252)}logo.png`],
  ])("for %j is %j", (name, suggested) => {
    expect(suggestFileKey(name, [])).toBe(suggested);
  });

  it.each([
    ["größe.txt", ["groesse.txt"], "groesse-2.txt"],
    ["größe.txt", ["GROESSE.TXT", "groesse-2.txt"], "groesse-3.txt"],
    ["logo.png", ["LOGO.png"], "logo-2.png"],
    ["lib", ["lib/x.typ"], "lib-2"],
    ["lib/x.typ", ["Lib"], "lib-2/x.typ"],
    ["x".repeat(255), ["x".repeat(255)], `${"x".repeat(253)}-2`],
  ])("for %j beside %j is %j", (name, taken, suggested) => {
    expect(suggestFileKey(name, taken)).toBe(suggested);
  });

  it("is valid for every name, and collides with no other key", () => {
    const segment = fc.oneof(
      fc.string({ unit: ANY_CHARACTER }),
      fc.constantFrom("a", "A", "ä b", "..", "x".repeat(254), "n.e"),
    );
    const name = fc.array(segment, { maxLength: 6 }).map((parts) => parts.join("/"));
    fc.assert(
      fc.property(fc.array(name, { maxLength: 12 }), (names) => {
        const keys: string[] = [];
        for (const each of names) keys.push(suggestFileKey(each, keys));
        expect(keys.filter((key) => !isValidKey(key))).toEqual([]);
        expect(validateFileSet(keys, keys.length, DEFAULT_LIMITS)).toBeNull();
      }),
    );
  });
});

describe("the suggested keys of many files", () => {
  it("are valid and collide with no other key, and are those of the files that need one", () => {
    const keys = ["a.png", "A.png", "ä.png", "ae.png", "a-2.png", "lib/x", "LIB"];
    expect(suggestFileKeys(keys)).toEqual(
      new Map([
        ["A.png", "A-3.png"],
        ["ä.png", "ae-2.png"],
        ["LIB", "LIB-2"],
      ]),
    );
  });

  it("are found for twenty thousand names that differ in case alone, in folders as deep as names can be", () => {
    const cased = (index: number) =>
      Array.from("abcdefghijklmno", (letter, bit) => (index & (1 << bit) ? letter.toUpperCase() : letter)).join("");
    const keys = Array.from({ length: 20_000 }, (_, index) => cased(index));
    const better = suggestFileKeys(keys);
    expect(better.size).toBe(keys.length - 1);
    expect(new Set([...better.values()].map((key) => key.toLowerCase())).size).toBe(keys.length - 1);
    const deep = Array.from({ length: 100 }, (_, index) => `${"a/".repeat(2000)}${cased(index)}`);
    expect(suggestFileKeys(deep).size).toBe(deep.length);
  });
});
