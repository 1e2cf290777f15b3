/**
 * The output rules: an output that breaks several is reported against the earliest.
 *
 * Every combination of the values below is checked against the second formulation of the rules, which includes every pair of rules
 * that one output can break.
 */
import { describe, expect, it } from "vitest";
import { OUTPUT_SCHEMAS } from "../../rules/output-options.ts";
import { OUTPUT_RULES } from "../../rules/output-rules.ts";
import { problemOf } from "../support/rules/bodies.ts";
import { type Output, OUTPUT_RULES as PUBLISHED } from "../support/rules/published-rules-client.ts";

const { rules: RULES } = PUBLISHED;

/** Selections that break every combination of the first four rules, and one that breaks none. */
const PAGES = [
  undefined,
  "1",
  "3-2",
  "x",
  "3-2,x",
  Array(65).fill("1").join(","),
  `3-2${",1".repeat(64)}`,
  `x${",1".repeat(64)}`,
  `3-2,x${",1".repeat(64)}`,
  `${"100000000,".repeat(26)}1`,
  `${"100000000,".repeat(26)}3-2`,
  "9".repeat(257),
  `3-2,${"9".repeat(257)}`,
  `${"1234,".repeat(64)}1`,
  `${"1234,".repeat(64)}3-2`,
  `${"1234,".repeat(64)}x`,
  `${"1234,".repeat(64)}x,3-2`,
];
const STANDARDS = [
  undefined,
  [],
  ["ua-1"],
  ["a-1a"],
  ["a-2b"],
  ["a-3a", "ua-1"],
  ["ua-1", "ua-1"],
  ["a-2b", "a-2b"],
  ["a-3a", "a-3a"],
  ["a-4", "a-4"],
  ["a-2b", "a-3a"],
  ["a-4f", "a-1b"],
  ["ua-1", "a-4"],
  ["a-4f", "ua-1"],
  ["ua-1", "a-4e"],
  ["a-4e"],
];

function product(): Output[] {
  const pdf = PAGES.flatMap((pages) =>
    STANDARDS.flatMap((standards) =>
      [undefined, "1.4", "1.7", "2.0"].map((version) => ({
        format: "pdf" as const,
        ...(pages !== undefined && { pages }),
        ...(standards && { standards }),
        ...(version !== undefined && { version }),
      })),
    ),
  );
  const image = PAGES.flatMap((pages) =>
    (["png", "svg"] as const).flatMap((format) =>
      [{}, { page: 2 }, { archive: "zip" as const }, { page: 1, archive: "zip" as const }].map((rest) => ({
        format,
        ...(pages !== undefined && { pages }),
        ...rest,
      })),
    ),
  );
  return [...pdf, ...image];
}

const OUTPUTS = product().map((fields) => ({
  fields,
  broken: [...RULES.keys()].filter((index) => RULES[index]?.isBroken(fields, PUBLISHED) === true),
}));

describe("the output rules", () => {
  it("are those of docs/api.md#output-rules, in that order", () => {
    expect(OUTPUT_RULES.map(({ id, field }) => [id, field])).toEqual(RULES.map(({ id, field }) => [id, field]));
  });

  it("are broken here by some output each, in every pair that one output can break", () => {
    const pairs = new Set(
      OUTPUTS.flatMap(({ broken }) =>
        broken.flatMap((i) => broken.filter((j) => i < j).map((j) => `${i + 1}+${j + 1}`)),
      ),
    );
    const all = RULES.flatMap((_first, i) => RULES.slice(i + 1).map((_second, j) => `${i + 1}+${i + j + 2}`));
    // No output is a PDF and an image; 5+7, 6+7 and 6+9 need three standards; 11 needs no archive and 12 needs one.
    const impossible = all.filter((pair) => /^([5-9]|10)\+1[12]$/.test(pair)).concat("5+7", "6+7", "6+9", "11+12");
    expect(all.filter((pair) => !pairs.has(pair)).toSorted()).toEqual(impossible.toSorted());
  });

  it.each(RULES.map(({ id, field }, index) => ({ id, field, index })))(
    "$id is reported where it is the earliest",
    ({ id, field, index }) => {
      const outputs = OUTPUTS.filter(({ broken }) => broken[0] === index);
      expect(outputs).not.toHaveLength(0);
      for (const { fields } of outputs) {
        const problem = problemOf({ source: "a", output: fields });
        expect(problem).toMatchObject({
          code: "invalid_request",
          context: { rule: id, errors: [{ loc: ["output", field], type: id }] },
        });
      }
    },
  );

  it("let pass what breaks none of them", () => {
    const outputs = OUTPUTS.filter(({ broken }) => broken.length === 0);
    expect(outputs.length).toBeGreaterThan(20);
    for (const { fields } of outputs) expect(problemOf({ source: "a", output: fields })).toBeNull();
  });

  it("hold for the default format too", () => {
    expect(problemOf({ source: "a", output: { pages: "2-1" } })?.context).toMatchObject({
      rule: "page_range_end_precedes_start",
    });
  });
});

it.each(
  Object.entries(OUTPUT_SCHEMAS).flatMap(([format, { entries }]) => Object.keys(entries).map((name) => [format, name])),
)("the schema of %s has the field %s, so the reader knows it", (format, name) => {
  const problem = problemOf({ source: "a", output: { format, [name]: {} } });
  expect(problem?.context).toMatchObject({ errors: [{ loc: ["output", name], type: "wrong_type" }] });
});
