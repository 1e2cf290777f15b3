/**
 * The order of validation: the problem of a request that fails at several stages is that of the earliest.
 */
import { describe, expect, it } from "vitest";
import { bodyOf, problemOf } from "../support/rules/bodies.ts";
import { limitsWith } from "../support/rules/limits-for-tests.ts";

const LIMITS = limitsWith({
  max_inline_files: 3,
  max_inline_file_bytes: 8,
  max_template_source_bytes: 8,
  max_string_bytes: 8,
  max_output_files: 4,
});

const file = (content: string) => ({ encoding: "text", content });

interface Parts {
  source?: string;
  files?: Record<string, unknown>;
  data?: unknown;
  output?: Record<string, unknown>;
  extra?: unknown;
}

interface Stage {
  readonly name: string;
  /** What makes a request fail here, put into the parts that are there already. */
  readonly spoil: (parts: Parts) => Parts;
  readonly expected: { code: string; rule?: string };
}

const withFiles = (parts: Parts, files: Record<string, unknown>): Parts => ({
  ...parts,
  files: { ...parts.files, ...files },
});
const withOutput = (parts: Parts, output: Record<string, unknown>): Parts => ({
  ...parts,
  output: { ...parts.output, ...output },
});

/** All stages after the grammar, in their order. */
const STAGES: readonly Stage[] = [
  { name: "a plain field error", spoil: (parts) => ({ ...parts, extra: 1 }), expected: { code: "invalid_request" } },
  {
    name: "the number of files",
    spoil: (parts) => withFiles(parts, { m: file(""), n: file(""), o: file(""), p: file("") }),
    expected: { code: "invalid_file_data" },
  },
  {
    name: "keys equal but for their case",
    spoil: (parts) => withFiles(parts, { k: file(""), K: file("") }),
    expected: { code: "invalid_file_data", rule: "case_collision" },
  },
  {
    name: "a key that is another's directory",
    spoil: (parts) => withFiles(parts, { k: file(""), "k/x": file("") }),
    expected: { code: "invalid_file_data", rule: "ancestor_collision" },
  },
  {
    name: "the size of source",
    spoil: (parts) => ({ ...parts, source: "s".repeat(9) }),
    expected: { code: "template_source_too_large" },
  },
  {
    name: "the size of a file",
    spoil: (parts) => withFiles(parts, { k: file("f".repeat(9)) }),
    expected: { code: "template_file_too_large" },
  },
  {
    name: "the size of a string",
    spoil: (parts) => ({ ...parts, data: ["d".repeat(9)] }),
    expected: { code: "string_too_large" },
  },
  {
    name: "the number of pages",
    spoil: (parts) => withOutput(parts, { format: "png", archive: "zip", pages: "1-5" }),
    expected: { code: "page_selection_too_large" },
  },
  {
    name: "an output rule",
    spoil: (parts) => withOutput(parts, { format: "png", archive: "zip", page: 1 }),
    expected: { code: "invalid_request", rule: "page_with_archive" },
  },
];

function outcome(request: unknown): { code: string; rule?: string } | null {
  const problem = problemOf(request, LIMITS);
  if (problem === null) return null;
  const { code, context } = problem;
  return "rule" in context && context.rule !== undefined ? { code, rule: context.rule } : { code };
}

const PAIRS = STAGES.flatMap((earlier, index) => STAGES.slice(index + 1).map((later) => ({ earlier, later })));
const ORDERS = [
  ["source", "files", "data", "output", "extra"],
  ["extra", "output", "data", "files", "source"],
];

/** The same request with its members in each of the orders. */
function inEveryOrder(parts: Parts): string[] {
  const members = new Map(Object.entries(parts));
  return ORDERS.map((names) =>
    JSON.stringify(
      Object.fromEntries(names.filter((name) => members.has(name)).map((name) => [name, members.get(name)])),
    ),
  );
}

describe("a request is answered by the earliest stage at which it fails", () => {
  it.each(STAGES)("$name alone", ({ spoil, expected }) => {
    for (const request of inEveryOrder(spoil({ source: "s" }))) expect(outcome(request)).toEqual(expected);
  });

  it.each(PAIRS)("$earlier.name before $later.name", ({ earlier, later }) => {
    const parts = earlier.spoil(later.spoil({ source: "s" }));
    const ruleHolds = (rest: Parts) => outcome(JSON.stringify(rest));
    expect(ruleHolds(later.spoil({ source: "s" }))).toEqual(later.expected);
    for (const request of inEveryOrder(parts)) expect(outcome(request)).toEqual(earlier.expected);
  });

  it.each(STAGES)("malformed JSON before $name", ({ spoil }) => {
    for (const request of inEveryOrder(spoil({ source: "s" }))) {
      for (const body of [request.slice(0, -1), `${request}}`, `${request.slice(0, -1)},}`]) {
        expect(problemOf(body, LIMITS)).toMatchObject({ code: "invalid_request", context: {} });
        expect(problemOf(body, LIMITS)?.context).toEqual({});
      }
    }
  });

  it.each(STAGES)("a byte that is not UTF-8 before $name", ({ spoil }) => {
    for (const request of inEveryOrder(spoil({ source: "s" }))) {
      const body = Uint8Array.from([...bodyOf(request.slice(0, -1)), ...bodyOf(',"zz":"'), 0xff, 0x22, 0x7d]);
      expect(problemOf(body, LIMITS)).toMatchObject({ code: "invalid_request" });
      expect(problemOf(body, LIMITS)?.context).toEqual({});
    }
  });

  it.each([
    ["page_selection_too_many_segments", { archive: "zip", pages: `1-5${",1".repeat(64)}` }],
    ["page_selection_malformed", { archive: "zip", pages: "1-5,x" }],
    ["page_range_end_precedes_start", { archive: "zip", pages: "1-5,2-1" }],
    ["pages_requires_archive", { pages: "1-5" }],
  ])("counts no pages where %s says that there is no selection for an archive", (rule, fields) => {
    const output = { format: "png", ...fields };
    expect(outcome({ source: "s", output })).toEqual({ code: "invalid_request", rule });
  });

  it("reports an output rule with its field, and a missing source without the rule", () => {
    const output = { pages: "1", format: "png" };
    expect(problemOf({ source: "s", output })?.context).toMatchObject({
      rule: "pages_requires_archive",
      errors: [{ loc: ["output", "pages"], type: "pages_requires_archive" }],
    });
    expect(problemOf({ output })?.context).toEqual({
      errors: [expect.objectContaining({ loc: ["source"], type: "missing" })],
    });
  });
});
