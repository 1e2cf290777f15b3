/** The published vectors and patterns: the service comes to the published verdicts, and so do the engines of other languages. */
import { spawnSync } from "node:child_process";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { FILES_VECTORS, OUTPUT_VECTORS } from "../../rules/conformance-vectors.ts";
import { isValidKey, KEY_PATTERN, SET_RULES } from "../../rules/files-rules.ts";
import { OUTPUT_RULES } from "../../rules/output-rules.ts";
import { PAGE_SELECTION, parsePageRange } from "../../rules/page-selection.ts";
import { problemOf } from "../support/rules/bodies.ts";
import { limitsWith } from "../support/rules/limits-for-tests.ts";
import { matchesOfPcre } from "../support/rules/pcre.ts";
import { keyText, longKeyText } from "../support/rules/request-arbitraries.ts";

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
});

// A key with NUL cannot be passed to grep, whose records end with NUL.
const KEYS = [
  ...FILES_VECTORS.flatMap(({ keys }) => keys),
  ...fc.sample(keyText, 4000),
  ...fc.sample(longKeyText, 400),
].filter((key) => key.isWellFormed() && !key.includes("\0"));

const PYTHON = `
import json, re, sys
pattern, keys = json.load(sys.stdin)
if sys.version_info < (3, 14):
    pattern = pattern.replace("\\\\z", "\\\\Z")
json.dump([re.search(pattern, key) is not None for key in keys], sys.stdout)
`;
const python = spawnSync("python3", ["-c", PYTHON], { input: JSON.stringify([KEY_PATTERN, KEYS]), encoding: "utf8" });

/** The published key pattern, adapted as docs/client.md#other-languages describes. */
describe("key_pattern agrees with the service", () => {
  const verdicts = KEYS.map(isValidKey);

  it("read by PCRE", () => {
    expect(matchesOfPcre(KEY_PATTERN, KEYS)).toEqual(verdicts);
  });

  it("read by JavaScript, with ^ and $", () => {
    const pattern = new RegExp(KEY_PATTERN.replace("\\A", "^").replaceAll("\\z", "$"));
    expect(KEYS.map((key) => pattern.test(key))).toEqual(verdicts);
  });

  it.skipIf(python.error !== undefined)("read by Python, with \\Z before 3.14", () => {
    expect(python.stderr).toBe("");
    expect(JSON.parse(python.stdout)).toEqual(verdicts);
  });

  it("on keys of which some are valid, also at the greatest length", () => {
    for (const length of [511, 512, 513]) {
      const ofLength = KEYS.filter((key) => key.length === length && /^[\w./-]+$/.test(key));
      expect(ofLength).not.toHaveLength(0);
      expect(ofLength.some(isValidKey)).toBe(length <= 512);
    }
    expect(verdicts.filter(Boolean).length).toBeGreaterThan(KEYS.length / 10);
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

  it("agrees with the service on those of every vector, and on thousands of random ones", () => {
    const published = OUTPUT_VECTORS.flatMap(({ output: { pages } }) =>
      typeof pages === "string" ? pages.split(",") : [],
    );
    const selections = [...published, ...fc.sample(randomSelection, 4000)];
    const verdicts = selections.map((selection) => parsePageRange(selection) !== null);
    expect(matchesOfPcre(pattern, selections)).toEqual(verdicts);
    expect(verdicts.filter(Boolean).length).toBeGreaterThan(selections.length / 10);
  });
});
