/** The largest sets of keys. Collisions of few: render-request.property.test.ts; single keys: conformance-vectors.test.ts. */
import { expect, it } from "vitest";
import { isValidKey, validateFileSet } from "../../rules/files-rules.ts";
import { limitsWith } from "../support/rules/limits-for-tests.ts";

it.each([
  ["at the front", (index: number) => `${index}/${"k/".repeat(252)}`.slice(0, 511).concat("k")],
  ["at the end", (index: number) => `${"K/".repeat(253)}${index.toString().padStart(5, "0")}`],
])("a set may be 1024 keys of full length and depth that differ %s", (_where, key) => {
  const limits = limitsWith({ max_inline_files: 1024 });
  const keys = Array.from({ length: 1024 }, (_, index) => key(index));
  expect(keys.every((one) => isValidKey(one) && one.length > 500)).toBe(true);
  expect(validateFileSet(keys, keys.length, limits)).toBeNull();
  const directory = keys[700]?.toLowerCase().replace(/\/[^/]*$/, "") ?? "";
  expect(validateFileSet([...keys.slice(1), directory], 1024, limits)?.context).toEqual({
    key: directory,
    rule: "ancestor_collision",
  });
});
