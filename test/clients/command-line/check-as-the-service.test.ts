/** The same requests, compiled by the service and by `check`: both give a file, or both refuse it for the same reason. */
import { join } from "node:path";
import * as v from "valibot";
import { describe, expect, it } from "vitest";
import { EXIT_CODES, exitCodeOf } from "../../../clients/command-line/exit-codes.ts";
import { compileLocally } from "../../../clients/command-line/local/compile.ts";
import { collectProject } from "../../../clients/command-line/project/project.ts";
import "../../../clients/template/node-parser.ts";
import { DEFAULT_LIMITS, type Limits } from "../../../rules/limits.ts";
import { OUTPUT_SCHEMAS, type Output } from "../../../rules/output-options.ts";
import { startSharedBackend, startTemporaryBackend, type TestBackend } from "../../support/backend/test-backend.ts";
import { typstPath } from "../../support/backend/typst-path.ts";
import { makeProject } from "../../support/clients/command-line.ts";
import { readZip } from "../../support/readers/zip-reader.ts";

const shared = await startSharedBackend();

const outputOf = (output: { readonly format: Output["format"] }): Output =>
  v.parse(OUTPUT_SCHEMAS[output.format], output);

async function check(source: string, output: Output, limits: Limits) {
  const folder = await makeProject({ "main.typ": source });
  const project = collectProject(join(folder, "main.typ"), {}, { command: "check", leaveOut: [], data: [] });
  const local = { typstPath: typstPath(), fontPaths: [], packagePath: null };
  return compileLocally({ project, data: null, output, local, limits }, new AbortController().signal);
}

/** The sizes that are counted differ where a limit ends a compilation early. */
const withoutSize = (text: unknown) => String(text).replace(/has \d+ bytes/, "has … bytes");

/** What both say: `file`, or the words of the problem. The exit codes of `render` and `check` are the same. */
async function verdicts(backend: TestBackend, source: string, output: Output, limits: Limits = DEFAULT_LIMITS) {
  const answer = await backend.render({ source, output });
  const { ok, reason, exitCode } = await check(source, output, limits);
  const problem = answer.ok ? null : v.parse(PROBLEM, await answer.json());
  expect(exitCode).toBe(problem === null ? EXIT_CODES.success : exitCodeOf(problem));
  return { service: problem === null ? "file" : withoutSize(problem.detail), check: ok ? "file" : withoutSize(reason) };
}

const PROBLEM = v.object({ detail: v.string(), origin: v.string() });

/** With a date of its own, equal in size at each compilation. */
const THREE_PAGES = `#set document(title: "T", date: datetime(year: 2026, month: 1, day: 1))\n#set page(width: 99pt, height: 70pt)
One #pagebreak() Two #pagebreak() #circle()`;
/** Each is smaller than the records of its entry. */
const BLANK_PAGES = `#set page(width: 9pt, height: 9pt, margin: 0pt)\n${"#pagebreak()\n".repeat(7)}`;

describe("an output over the limit is refused, and one at the limit is not", () => {
  it.each([
    ["a PDF", THREE_PAGES, { format: "pdf" }],
    ["a PDF/A", THREE_PAGES, { format: "pdf", standards: ["a-2b"] }],
    ["pages of a PDF", THREE_PAGES, { format: "pdf", pages: "2-" }],
    ["a PNG", THREE_PAGES, { format: "png", page: 1 }],
    ["an SVG with links", `#link("a?b&c")[${"x".repeat(99)}]`, { format: "svg" }],
    ["an archive of PNG", THREE_PAGES, { format: "png", archive: "zip" }],
    ["an archive of SVG", THREE_PAGES, { format: "svg", archive: "zip" }],
    ["an archive of SVG that is larger than its pages", BLANK_PAGES, { format: "svg", archive: "zip" }],
  ] as const)("%s", async (_what, source, wanted) => {
    const output = outputOf(wanted);
    const file = await shared.renderFile({ source, output });
    const pages = "archive" in wanted ? readZip(file) : [];
    const most = Math.max(
      file.length,
      pages.reduce((sum, { bytes }) => sum + bytes.length, 0),
    );
    for (const [limit, expected] of [
      [most, "file"],
      [most - 1, `The output has … bytes or more; at most ${most - 1} are allowed.`],
    ] as const) {
      const backend = await startTemporaryBackend({ SERVICE_MAX_OUTPUT_BYTES: String(limit) });
      const limits = { ...DEFAULT_LIMITS, max_output_bytes: limit };
      expect(await verdicts(backend, source, output, limits)).toEqual({ service: expected, check: expected });
    }
  });

  it.each([3, 2])("an archive of three pages, of which %i may be", async (limit) => {
    const backend = await startTemporaryBackend({ SERVICE_MAX_OUTPUT_FILES: String(limit) });
    const limits = { ...DEFAULT_LIMITS, max_output_files: limit };
    const expected = limit === 3 ? "file" : "The document has more pages than the 2 that an archive may hold.";
    for (const pages of [null, "1-"]) {
      const output = outputOf({ format: "png", archive: "zip", pages } as { format: "png" });
      expect(await verdicts(backend, THREE_PAGES, output, limits)).toEqual({ service: expected, check: expected });
    }
  });
});

it.each([
  ["one page as an image", "x", { format: "png" }, "file"],
  ["several pages as one image", THREE_PAGES, { format: "svg" }, /^The document has several pages\./],
  ["a page that is not there", "x", { format: "png", page: 2 }, "The document has no page 2."],
  ["the last page", THREE_PAGES, { format: "png", page: 3 }, "file"],
  ["pages that are there", THREE_PAGES, { format: "pdf", pages: "9,3" }, "file"],
  ["pages that are not there", THREE_PAGES, { format: "pdf", pages: "4-" }, /^The document has none of the pages/],
  [
    "a blank page like the one for none",
    "#set page(width: 595pt, height: 842pt)",
    { format: "pdf", pages: "1" },
    "file",
  ],
  ["pages of an archive", THREE_PAGES, { format: "svg", archive: "zip", pages: "3-" }, "file"],
  ["none of an archive", THREE_PAGES, { format: "svg", archive: "zip", pages: "4-" }, /^The document has none of the/],
] as const)("%s", async (_what, source, wanted, expected) => {
  const { service, check } = await verdicts(shared, source, outputOf(wanted));
  expect(service).toMatch(expected);
  expect(check).toBe(service);
});

it("what only the author may see is said by check alone: Typst's words, and what of a standard is broken", async () => {
  expect(await verdicts(shared, "#oops", outputOf({ format: "png" }))).toEqual({
    service: "Typst could not produce the requested output from this template.",
    check: "null",
  });
  const tall = '#set document(title: "T")\n#page(height: 15586pt, width: 80mm)[]';
  const { service, check } = await verdicts(
    shared,
    tall,
    outputOf({ format: "pdf", standards: ["a-2b"] } as { format: "pdf" }),
  );
  expect(service).toMatch(/^The PDF would not be what its standard requires/);
  expect(check).toMatch(/^Page 1 is 15,586 pt high/);
});
