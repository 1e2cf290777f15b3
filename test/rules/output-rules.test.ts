/**
 * The output rules: an output that breaks several is reported against the earliest.
 *
 * Each rule is written a second time, from docs/api.md#output-rules and independent of the others. Every combination of the values
 * below is checked, which includes every pair of rules that one output can break.
 */
import { describe, expect, it } from "vitest";
import { OUTPUT_SCHEMAS } from "../../rules/output-options.ts";
import { OUTPUT_RULES, PDF_A_VERSION, validateOutputRules } from "../../rules/output-rules.ts";
import { parseRenderRequest } from "../../rules/render-request.ts";
import { bodyOf, problemOf } from "../support/rules/bodies.ts";
import { limitsWith } from "../support/rules/limits-for-tests.ts";

interface Fields {
  readonly format: "pdf" | "png" | "svg";
  readonly pages?: string;
  readonly standards?: readonly string[];
  readonly version?: string;
  readonly page?: number;
  readonly archive?: "zip";
}

const PROFILES: Readonly<Record<string, string>> = PDF_A_VERSION;
const profilesOf = ({ standards = [] }: Fields) => standards.filter((standard) => standard !== "ua-1");
const namesUa1 = ({ standards = [] }: Fields) => standards.includes("ua-1");
const selectionsOf = ({ pages }: Fields) => pages?.split(",") ?? [];

/** The rules of docs/api.md#output-rules in their order, with the field that an error points to. */
const RULES: readonly [id: string, field: string, isBroken: (fields: Fields) => boolean][] = [
  ["page_selection_too_long", "pages", ({ pages = "" }) => [...pages].length > 256],
  ["page_selection_too_many_segments", "pages", (fields) => selectionsOf(fields).length > 64],
  [
    "page_selection_malformed",
    "pages",
    (fields) => selectionsOf(fields).some((selection) => !/^[1-9]\d{0,8}(-|-[1-9]\d{0,8})?$/.test(selection)),
  ],
  [
    "page_range_end_precedes_start",
    "pages",
    (fields) =>
      selectionsOf(fields).some((selection) => {
        const [, first, last] = /^(\d+)-(\d+)$/.exec(selection) ?? [];
        return Number(last) < Number(first);
      }),
  ],
  ["duplicate_standards", "standards", ({ standards = [] }) => new Set(standards).size < standards.length],
  ["multiple_pdf_a_standards", "standards", (fields) => profilesOf(fields).length > 1],
  [
    "ua_1_with_pdf_a_4",
    "standards",
    (fields) => namesUa1(fields) && profilesOf(fields).some((profile) => ["a-4", "a-4f", "a-4e"].includes(profile)),
  ],
  [
    "version_conflicts_with_standard",
    "version",
    (fields) =>
      fields.version !== undefined && profilesOf(fields).some((profile) => PROFILES[profile] !== fields.version),
  ],
  ["ua_1_with_pdf_2_0", "version", (fields) => namesUa1(fields) && fields.version === "2.0"],
  [
    "pages_with_tagged_standard",
    "pages",
    ({ pages, standards = [] }) =>
      pages !== undefined && standards.some((standard) => ["ua-1", "a-1a", "a-2a", "a-3a"].includes(standard)),
  ],
  [
    "pages_requires_archive",
    "pages",
    ({ format, pages, archive }) => format !== "pdf" && pages !== undefined && archive === undefined,
  ],
  [
    "page_with_archive",
    "page",
    ({ format, page, archive }) => format !== "pdf" && page !== undefined && archive !== undefined,
  ],
];

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

function product(): Fields[] {
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
  broken: RULES.map((_rule, index) => index).filter((index) => RULES[index]?.[2](fields) === true),
}));

describe("the output rules", () => {
  it("are those of docs/api.md#output-rules, in that order", () => {
    expect(OUTPUT_RULES.map(({ id, field }) => [id, field])).toEqual(RULES.map(([id, field]) => [id, field]));
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

  it.each(RULES.map(([id, field], index) => ({ id, field, index })))(
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

  it("come to the same verdict without limits", () => {
    for (const { fields } of OUTPUTS.slice(0, 200)) {
      const parsed = parseRenderRequest(bodyOf({ source: "a", output: fields }), limitsWith({}));
      if (parsed.ok) expect(validateOutputRules(parsed.request.output)).toBeNull();
    }
    const output = { format: "png", filename: null, page: 1, pages: null, archive: "zip", ppi: 72 } as const;
    expect(validateOutputRules(output)).toMatchObject({ context: { rule: "page_with_archive" } });
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
