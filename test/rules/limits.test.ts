/** The limits: defaults, what is measured, the problem one past them, and that of a request with several. */
import { describe, expect, it } from "vitest";
import { DEFAULT_LIMITS, type LimitName, type Limits } from "../../rules/limits.ts";
import { problemOf } from "../support/rules/bodies.ts";
import { limitsWith } from "../support/rules/limits-for-tests.ts";

/** The limits of docs/api.md#limits with their defaults. */
const DOCUMENTED_LIMITS = {
  effective_max_files: 64,
  max_inline_files: 64,
  max_inline_file_bytes: 1_048_576,
  max_template_source_bytes: 524_288,
  max_string_bytes: 1_048_576,
  max_request_body_bytes: 20_971_520,
  max_output_bytes: 52_428_800,
  max_output_files: 64,
} satisfies Limits;

it("the default limits are those of docs/api.md#limits", () => {
  expect(DEFAULT_LIMITS).toEqual(DOCUMENTED_LIMITS);
});

/** A text in spellings of all kinds, with its size in UTF-8 once decoded. Others: render-request.property.test.ts. */
const MIXED_TEXT = "aé€\\u0061\\u00e9\\u20ac\\ud83d\\ude00\\n";
const MIXED_SIZE = 1 + 2 + 3 + 1 + 2 + 3 + 4 + 1;

it.each<[place: string, member: string, name: LimitName, code: string, context: object]>([
  ["source", `"source":"${MIXED_TEXT}"`, "max_template_source_bytes", "template_source_too_large", {}],
  [
    "a text file",
    `"source":"a","files":{"b":{"encoding":"text","content":"${MIXED_TEXT}"}}`,
    ...(["max_inline_file_bytes", "template_file_too_large", { key: "b" }] as const),
  ],
  [
    "a string of data",
    `"source":"a","data":"${MIXED_TEXT}"`,
    ...(["max_string_bytes", "string_too_large", { path: [], subject: "value" }] as const),
  ],
  [
    "a key of data",
    `"source":"a","data":{"${MIXED_TEXT}":1}`,
    ...(["max_string_bytes", "string_too_large", { path: [JSON.parse(`"${MIXED_TEXT}"`)], subject: "key" }] as const),
  ],
])("%s is measured by its UTF-8 bytes, however they are written", (_place, members, name, code, context) => {
  const limit = MIXED_SIZE - 1;
  expect(problemOf(`{${members}}`, limitsWith({ [name]: MIXED_SIZE }))).toBeNull();
  expect(problemOf(`{${members}}`, limitsWith({ [name]: limit }))).toMatchObject({
    code,
    context: { ...context, size: MIXED_SIZE, limit },
  });
});

describe("the number of files", () => {
  const files = (count: number) =>
    Object.fromEntries(Array.from({ length: count }, (_, index) => [`f${index}`, { encoding: "text", content: "" }]));
  const validate = (count: number, maxInlineFiles: number) =>
    problemOf({ source: "a", files: files(count) }, limitsWith({ max_inline_files: maxInlineFiles }));

  it.each([1024, 5000])("may be 1024 where %i are configured, and 1025 breaks the rule too_many_keys", (configured) => {
    expect(validate(1024, configured)).toBeNull();
    expect(validate(1025, configured)).toMatchObject({ code: "invalid_file_data" });
    expect(validate(1025, configured)?.context).toEqual({ count: 1025, limit: 1024, rule: "too_many_keys" });
  });

  it("breaks the rule too_many_keys past 1024, however low the deployment's cap", () => {
    expect(validate(1024, 64)?.context).toEqual({ count: 1024, limit: 64 });
    expect(validate(1025, 64)?.context).toEqual({ count: 1025, limit: 1024, rule: "too_many_keys" });
  });

  describe("a key that is there again", () => {
    /** A body with this many keys, and one of them again. */
    const bodyWith = (count: number, again = count - 1) => {
      const names = Array.from({ length: count }, (_, index) => `f${index}`);
      const entries = [...names, names[again]].map((name) => `"${name}":{"encoding":"text","content":""}`);
      return `{"source":"a","files":{${entries.join()}}}`;
    };

    it.each([2, 3, 64, 65, 1024])("is named as a duplicate of one of %i, whatever the deployment's cap", (count) => {
      for (const again of [0, count - 1]) {
        expect(problemOf(bodyWith(count, again), limitsWith({ max_inline_files: 2 }))).toMatchObject({
          code: "invalid_request",
          context: { errors: [{ loc: ["files", `f${again}`], type: "duplicate_field" }] },
        });
      }
    });

    it("is counted as one more where it comes after 1024 others", () => {
      expect(problemOf(bodyWith(1025))?.context).toEqual({ count: 1026, limit: 1024, rule: "too_many_keys" });
    });
  });
});

// The order of validation

const ALL_LOW = limitsWith({
  max_inline_files: 3,
  max_inline_file_bytes: 8,
  max_template_source_bytes: 8,
  max_string_bytes: 8,
  max_output_files: 4,
});

const file = (content: string) => ({ encoding: "text", content });

/** What makes a request fail at each stage after the grammar, in their order; with the code and the rule. */
const STAGES: readonly (readonly [
  name: string,
  parts: Readonly<Record<string, unknown>>,
  code: string,
  rule?: string,
])[] = [
  ["a plain field error", { extra: 1 }, "invalid_request"],
  ["the number of files", { files: { m: file(""), n: file(""), o: file(""), p: file("") } }, "invalid_file_data"],
  ["keys equal but for their case", { files: { k: file(""), K: file("") } }, "invalid_file_data", "case_collision"],
  [
    "a key that is another's directory",
    { files: { k: file(""), "k/x": file("") } },
    "invalid_file_data",
    "ancestor_collision",
  ],
  ["the size of source", { source: "s".repeat(9) }, "template_source_too_large"],
  ["the size of a file", { files: { z: file("f".repeat(9)) } }, "template_file_too_large"],
  ["the size of a string", { data: ["d".repeat(9)] }, "string_too_large"],
  ["the number of pages", { output: { format: "png", archive: "zip", pages: "1-5" } }, "page_selection_too_large"],
  ["an output rule", { output: { format: "png", archive: "zip", page: 1 } }, "invalid_request", "page_with_archive"],
];

/** The parts of requests put together, with the members of the later ones in `files` and `output`. */
function together(...requests: readonly Readonly<Record<string, unknown>>[]): Record<string, unknown> {
  const all: Record<string, unknown> = { source: "s" };
  for (const [name, value] of requests.flatMap((parts) => Object.entries(parts))) {
    const isGroup = name === "files" || name === "output";
    all[name] = isGroup ? { ...Object(all[name]), ...Object(value) } : value;
  }
  return all;
}

/** Expects this code and rule, in whichever order the members come. */
function expectProblem(request: Record<string, unknown>, code: string, rule?: string): void {
  for (const members of [Object.entries(request), Object.entries(request).toReversed()]) {
    const { context, ...problem } = problemOf(Object.fromEntries(members), ALL_LOW) ?? expect.unreachable();
    expect([problem.code, "rule" in context ? context.rule : undefined]).toEqual([code, rule]);
  }
}

/** What comes before these stages is compared with the slow validator in render-request.property.test.ts. */
describe("a request is answered by the earliest stage at which it fails", () => {
  it.each(
    STAGES.flatMap(([name, parts, code, rule], index) =>
      STAGES.slice(index).map(([later, laterParts]) => ({
        name,
        later,
        request: together(laterParts, parts),
        code,
        rule,
      })),
    ),
  )("$name, whatever there is of $later", ({ request, code, rule }) => {
    expectProblem(request, code, rule);
  });

  it.each([
    ["page_selection_too_many_segments", { archive: "zip", pages: `1-5${",1".repeat(64)}` }],
    ["page_selection_malformed", { archive: "zip", pages: "1-5,x" }],
    ["page_range_end_precedes_start", { archive: "zip", pages: "1-5,2-1" }],
    ["pages_requires_archive", { pages: "1-5" }],
  ])("counts no pages where %s says that there is no selection for an archive", (rule, fields) => {
    expectProblem({ source: "s", output: { format: "png", ...fields } }, "invalid_request", rule);
  });
});
