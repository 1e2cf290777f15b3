/** The set of keys, before and after it has a filter. */
import { expect, it } from "vitest";
import { SeenKeys } from "../../rules/seen-keys.ts";

const KEYS = Array.from({ length: 100 }, (_, index) => `lib/part-${index}.typ`);

it("finds every key again and no other, however many were looked up before", () => {
  const seen = new SeenKeys();
  for (const [index, key] of KEYS.entries()) {
    expect(seen.has(key)).toBe(false);
    seen.add(key);
    // Each look-up counts, so these cross the point from which there is a filter.
    expect(seen.has(key)).toBe(true);
    expect(seen.size).toBe(index + 1);
  }
  for (const key of KEYS) {
    expect(seen.has(key)).toBe(true);
    expect(seen.has(`${key}x`)).toBe(false);
  }
});

it("finds keys that were added before it had a filter", () => {
  const seen = new SeenKeys();
  seen.add("first");
  for (const key of KEYS) expect(seen.has(key)).toBe(false);
  expect(seen.has("first")).toBe(true);
});
