/** The verdict on each end of a compilation. Service and command line come to it in `test/clients/command-line/check-as-the-service.test.ts`. */
import * as v from "valibot";
import { describe, expect, it } from "vitest";
import { DEFAULT_LIMITS } from "../../rules/limits.ts";
import { OUTPUT_SCHEMAS, type Output } from "../../rules/output-options.ts";
import { type CompileVerdict, foundPage, judgeCompilation } from "../../typst/compile-verdict.ts";

const LIMIT = 5000;
const LIMITS = { ...DEFAULT_LIMITS, max_output_bytes: LIMIT, max_output_files: 7 };

const PDF: Output = v.parse(OUTPUT_SCHEMAS.pdf, { format: "pdf" });
const PAGES: Output = { ...PDF, pages: "7-9,3-4" };
const IMAGE: Output = v.parse(OUTPUT_SCHEMAS.png, { format: "png" });
const ARCHIVE: Output = { ...IMAGE, archive: "zip" };

const ENDED = { exitCode: 0, outputBytes: 100, pageCount: null, standards: null } as const;
const BROKEN = { rule: "language_tag" } as const;
const judge = (output: Output, ended: object = {}) => judgeCompilation({ ...ENDED, ...ended }, output, LIMITS);

/** In words: a code with part of the detail, the page that is asked for, or `file`. */
function inWords(verdict: CompileVerdict): string {
  if (verdict.kind === "unclear") return `page ${verdict.page}?`;
  return verdict.kind === "file" ? "file" : `${verdict.problem.code}: ${verdict.problem.detail}`;
}

const REFUSED = "template_compile_failed: Typst could not";
const NO_PAGE = "template_compile_failed: The document has no";
const BROKEN_PDF = { standards: { kind: "broken", rules: [BROKEN] } };
const OVER = LIMIT + 1;

it.each<[string, Output, object, string]>([
  ["success", PDF, {}, "file"],
  ["success with the last byte of the limit", PDF, { outputBytes: LIMIT }, "file"],
  ["success with one byte more", PDF, { outputBytes: OVER }, `output_too_large: The output has ${OVER} `],
  [
    "a failure over the limit, where the output may be cut off",
    PDF,
    { exitCode: 1, outputBytes: OVER },
    "output_too_l",
  ],
  ["an archive of the most pages", ARCHIVE, { pageCount: 7 }, "file"],
  ["an archive of one page more", ARCHIVE, { pageCount: 8, outputBytes: OVER }, "too_many_output_files: "],
  ["an archive of pages without a byte", ARCHIVE, { pageCount: 1, outputBytes: 0 }, "file"],
  ["an archive over the limit", ARCHIVE, { pageCount: 1, outputBytes: OVER }, "output_too_large: "],
  ["an error", PDF, { exitCode: 1 }, REFUSED],
  ["wrong arguments", PDF, { exitCode: 2 }, REFUSED],
  ["a panic", IMAGE, { exitCode: 101, outputBytes: 0 }, REFUSED],
  ["an error after output", IMAGE, { exitCode: 1, outputBytes: 1 }, REFUSED],
  ["an error of an archive", ARCHIVE, { exitCode: 1, outputBytes: 0 }, REFUSED],
  ["an error of a page", { ...IMAGE, page: 2 }, { exitCode: 1, outputBytes: 0 }, REFUSED],
  ["an error of an image of all pages", IMAGE, { exitCode: 1, outputBytes: 0 }, "page 2?"],
  ["a PDF of selected pages", PAGES, {}, "page 3?"],
  ["a PDF that breaks its standard", PDF, BROKEN_PDF, "template_compile_failed: The PDF"],
  ["a PDF that keeps its standard", PDF, { standards: { kind: "kept" } }, "file"],
  ["a PDF that cannot be read", PDF, { standards: { kind: "unread" } }, "file"],
  ["no page of those that were chosen", { ...IMAGE, page: 9 }, { outputBytes: 0 }, `${NO_PAGE} page 9.`],
  ["no page of an archive's selection", { ...ARCHIVE, pages: "9" }, { pageCount: 0, outputBytes: 0 }, `${NO_PAGE}ne`],
  ["no page where none was chosen", IMAGE, { outputBytes: 0 }, "render_failed: "],
  ["no page of an archive", ARCHIVE, { pageCount: 0, outputBytes: 0 }, "render_failed: "],
  ["no byte of a PDF", PDF, { outputBytes: 0 }, "render_failed: "],
  ["no byte of a PDF of selected pages", PAGES, { outputBytes: 0 }, "render_failed: "],
])("%s", (_what, output, ended, expected) => {
  expect(inWords(judge(output, ended)).slice(0, expected.length)).toBe(expected);
});

describe("a page that decides", () => {
  const decide = (verdict: CompileVerdict, exitCode: number | null, bytes: number) =>
    verdict.kind === "unclear" ? inWords(verdict.decide(foundPage(exitCode, bytes))) : "clear";

  it.each([
    ["is there", 0, 100, /several pages/],
    ["is not there", 0, 0, /could not produce/],
    ["is refused", 1, 0, /could not produce/],
    ["is not compiled in time", null, 0, /could not produce/],
  ])("of a single image %s", (_what, exitCode, bytes, expected) => {
    expect(decide(judge(IMAGE, { exitCode: 1, outputBytes: 0 }), exitCode, bytes)).toMatch(expected);
  });

  it.each([
    ["is there", 0, 100, /^file$/],
    ["is not there", 0, 0, /none of the pages/],
    ["is too large to be compiled again", null, 10_000, /^file$/],
    ["is not compiled in time", null, 0, /^file$/],
    ["is refused", 1, 0, /^file$/],
  ])("of a selection %s", (_what, exitCode, bytes, expected) => {
    expect(decide(judge(PAGES), exitCode, bytes)).toMatch(expected);
  });

  it("comes before the standard that its PDF breaks", () => {
    const broken = judge(PAGES, BROKEN_PDF);
    expect(decide(broken, 0, 0)).toMatch(/none of the pages/);
    expect(decide(broken, 0, 100)).toMatch(/The PDF would not be/);
  });
});
