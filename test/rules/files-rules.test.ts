/** Sets of keys, compared with the slow validator, and the keys seen so far. Single ones: conformance-vectors. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { isValidKey, SeenKeys, validateFileSet } from "../../rules/files-rules.ts";
import { limitsWith } from "../support/rules/limits-for-tests.ts";
import { runs } from "../support/rules/runs.ts";
import { validateFileSet as validateFileSetSlowly } from "../support/rules/slow-validator.ts";

describe("a set of keys", () => {
  const limits = limitsWith({ max_inline_files: 1024 });
  const segment = fc.constantFrom("a", "A", "b", "B", "ab", "a.b", "a-", "a0");
  const key = fc.array(segment, { minLength: 1, maxLength: 4 }).map((segments) => segments.join("/"));

  it("collides exactly where two keys do, and the first rule broken is named with the key that breaks it", () => {
    const seen = new Set<string | undefined>();
    fc.assert(
      fc.property(fc.uniqueArray(key, { maxLength: 8 }), (keys) => {
        const problem = validateFileSet(keys, keys.length, limits);
        const slow = validateFileSetSlowly(keys, keys.length, limits);
        expect(problem && { code: problem.code, context: problem.context }).toEqual(slow);
        seen.add(problem?.context && "rule" in problem.context ? problem.context.rule : undefined);
      }),
      { numRuns: runs(3000) },
    );
    expect(seen).toEqual(new Set([undefined, "case_collision", "ancestor_collision"]));
  });

  it.each([
    ["at the front", (index: number) => `${index}/${"k/".repeat(252)}`.slice(0, 511).concat("k")],
    ["at the end", (index: number) => `${"K/".repeat(253)}${index.toString().padStart(5, "0")}`],
  ])("may be 1024 keys of full length and depth that differ %s", (_where, key) => {
    const keys = Array.from({ length: 1024 }, (_, index) => key(index));
    expect(keys.every(isValidKey)).toBe(true);
    expect(keys.every(({ length }) => length > 500)).toBe(true);
    expect(validateFileSet(keys, keys.length, limits)).toBeNull();
    const directory = keys[700]?.toLowerCase().replace(/\/[^/]*$/, "") ?? "";
    expect(validateFileSet([...keys.slice(1), directory], 1024, limits)?.context).toEqual({
      key: directory,
      rule: "ancestor_collision",
    });
  });
});

it("the keys seen are found again and no others, those from before there was a filter included", () => {
  const seen = new SeenKeys();
  seen.add("first");
  const keys = Array.from({ length: 100 }, (_, index) => `lib/part-${index}.typ`);
  for (const [index, key] of keys.entries()) {
    expect(seen.has(key)).toBe(false);
    seen.add(key);
    // Each look-up counts, so these cross the point from which there is a filter.
    expect([seen.has(key), seen.size]).toEqual([true, index + 2]);
  }
  expect(keys.every((key) => seen.has(key) && !seen.has(`${key}x`))).toBe(true);
  expect(seen.has("first")).toBe(true);
});
