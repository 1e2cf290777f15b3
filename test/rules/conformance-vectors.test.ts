/** The published vectors and patterns: the service comes to the published verdicts, and so does a PCRE engine. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { FILES_VECTORS, OUTPUT_VECTORS } from "../../rules/conformance-vectors.ts";
import { isValidKey, KEY_PATTERN, SET_RULES } from "../../rules/files-rules.ts";
import { OUTPUT_RULES } from "../../rules/output-rules.ts";
import { PAGE_SELECTION, parsePageRange } from "../../rules/page-selection.ts";
import { problemOf } from "../support/rules/bodies.ts";
import { limitsWith } from "../support/rules/limits-for-tests.ts";
import { matchesOfPcre } from "../support/rules/pcre.ts";
import { isValidKeySlowly } from "../support/rules/published-rules-client.ts";
import { longKeyText } from "../support/rules/request-arbitraries.ts";

const LIMITS = limitsWith({ max_inline_files: 1024 });

/** The name of a vector: enough to identify it. */
const nameOf = (value: unknown) => JSON.stringify(value).slice(0, 100);

function verdictOn(request: unknown) {
  const problem = problemOf(request, LIMITS);
  if (problem === null) return { accepted: true, code: null, rule: null };
  const { code, context } = problem;
  return { accepted: false, code, rule: ("rule" in context && context.rule) || null };
}

describe("the published vectors", () => {
  it.each(FILES_VECTORS.map((vector) => [nameOf(vector.keys), vector] as const))(
    "hold for keys %s",
    (_name, vector) => {
      const { keys, ...verdict } = vector;
      // `fromEntries` and not a literal: a key may be `__proto__`.
      const files = Object.fromEntries(keys.map((key) => [key, { encoding: "text", content: "x" }]));
      expect(Object.keys(files)).toHaveLength(keys.length);
      expect(verdictOn({ source: "x", files })).toEqual(verdict);
    },
  );

  it.each(OUTPUT_VECTORS.map((vector) => [nameOf(vector.output), vector] as const))(
    "hold for output %s",
    (_name, vector) => {
      const { output, ...verdict } = vector;
      expect(verdictOn({ source: "x", output })).toEqual(verdict);
    },
  );

  it("show every rule, and the one vector that docs/api.md#constraints shows", () => {
    expect(new Set(FILES_VECTORS.map(({ rule }) => rule))).toEqual(new Set([null, ...SET_RULES.map(({ id }) => id)]));
    expect(new Set(OUTPUT_VECTORS.map(({ rule }) => rule))).toEqual(
      new Set([null, ...OUTPUT_RULES.map(({ id }) => id)]),
    );
    expect(OUTPUT_VECTORS).toContainEqual({
      output: { format: "pdf", version: "1.4", standards: ["a-2b"] },
      accepted: false,
      code: "invalid_request",
      rule: "version_conflicts_with_standard",
    });
  });

  it("are distinct", () => {
    expect(new Set(FILES_VECTORS.map(({ keys }) => JSON.stringify(keys))).size).toBe(FILES_VECTORS.length);
    expect(new Set(OUTPUT_VECTORS.map(({ output }) => JSON.stringify(output))).size).toBe(OUTPUT_VECTORS.length);
  });
});

/** Keys around the rules: segments of the allowed and of neighbouring characters, at and past the lengths. */
const segment = fc.oneof(
  { weight: 4, arbitrary: fc.string({ unit: fc.constantFrom(..."azAZ09._-.."), maxLength: 5 }) },
  {
    weight: 1,
    arbitrary: fc.constantFrom(".", "..", "...", "", "a", "s".repeat(254), "s".repeat(255), "s".repeat(256)),
  },
  {
    weight: 1,
    arbitrary: fc.constantFrom("a\n", "\n", "é", "\u{1f600}", "a b", "\u212a", "[", "`", "@", "{", "\\", ":", "\u0085"),
  },
);
const randomKey = fc.oneof(
  { weight: 30, arbitrary: fc.array(segment, { minLength: 1, maxLength: 6 }).map((segments) => segments.join("/")) },
  { weight: 1, arbitrary: longKeyText },
);

describe("key_pattern, read by PCRE", () => {
  it("agrees with the service on the key of every vector", () => {
    // A key with NUL cannot be passed to grep, whose records end with NUL.
    const keys = FILES_VECTORS.flatMap((vector) => vector.keys).filter((key) => !key.includes("\0"));
    expect(matchesOfPcre(KEY_PATTERN, keys)).toEqual(keys.map(isValidKey));
  });

  it("agrees with the service on thousands of random keys", () => {
    const keys = [...fc.sample(randomKey, 4000), ...fc.sample(longKeyText, 400)];
    const matched = matchesOfPcre(KEY_PATTERN, keys);
    expect(keys.filter((key, index) => matched[index] !== isValidKey(key))).toEqual([]);
    expect(keys.filter((key) => isValidKey(key) !== isValidKeySlowly(key))).toEqual([]);
    for (const length of [511, 512, 513]) {
      const ofLength = keys.filter((key) => key.length === length && /^[\w./-]+$/.test(key));
      expect(ofLength).not.toHaveLength(0);
      expect(ofLength.some(isValidKey)).toBe(length <= 512);
    }
    expect(matched.filter(Boolean).length).toBeGreaterThan(keys.length / 10);
    expect(matched.filter((isMatch) => !isMatch).length).toBeGreaterThan(keys.length / 10);
  });
});

const randomSelection = fc.oneof(
  fc.string({ unit: fc.constantFrom(..."0123456789-"), maxLength: 12 }),
  fc.string({ unit: fc.constantFrom(..."1290-", " ", "\n", "\u0661", "+", ",", "."), maxLength: 5 }),
  fc
    .tuple(fc.integer({ min: 1, max: 2_000_000_000 }), fc.constantFrom("", "-", "--", "\n"))
    .map(([n, rest]) => `${n}${rest}`),
  fc
    .tuple(fc.integer({ min: 1, max: 2_000_000_000 }), fc.integer({ min: 0, max: 2_000_000_000 }))
    .map(([first, last]) => `${first}-${last}`),
);

describe("selection_pattern, matching the whole selection, read by PCRE", () => {
  const pattern = `\\A(?:${PAGE_SELECTION.selection_pattern})\\z`;

  it("agrees with the service on the selections of every vector", () => {
    const selections = OUTPUT_VECTORS.flatMap(({ output: { pages } }) =>
      typeof pages === "string" ? pages.split(",") : [],
    );
    expect(matchesOfPcre(pattern, selections)).toEqual(
      selections.map((selection) => parsePageRange(selection) !== null),
    );
  });

  it("agrees with the service on thousands of random selections", () => {
    const selections = fc.sample(randomSelection, 4000);
    const matched = matchesOfPcre(pattern, selections);
    expect(selections.filter((selection, index) => matched[index] !== (parsePageRange(selection) !== null))).toEqual(
      [],
    );
    expect(matched.filter(Boolean).length).toBeGreaterThan(selections.length / 10);
  });
});
