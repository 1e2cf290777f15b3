/**
 * The order of validation: the problem of a request that fails at several stages is that of the earliest. What comes before these
 * stages is compared with the slow validator in render-request.property.test.ts.
 */
import { describe, expect, it } from "vitest";
import { problemOf } from "../support/rules/bodies.ts";
import { limitsWith } from "../support/rules/limits-for-tests.ts";

const LIMITS = limitsWith({
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
    const { context, ...problem } = problemOf(Object.fromEntries(members), LIMITS) ?? expect.unreachable();
    expect([problem.code, "rule" in context ? context.rule : undefined]).toEqual([code, rule]);
  }
}

describe("a request is answered by the earliest stage at which it fails", () => {
  it.each(STAGES.map(([name, ...stage]) => ({ name, stage })))("$name alone", ({ stage: [parts, code, rule] }) => {
    expectProblem(together(parts), code, rule);
  });

  it.each(
    STAGES.flatMap(([name, parts, code, rule], index) =>
      STAGES.slice(index + 1).map(([later, laterParts]) => ({
        name,
        later,
        request: together(laterParts, parts),
        code,
        rule,
      })),
    ),
  )("$name before $later", ({ request, code, rule }) => {
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
