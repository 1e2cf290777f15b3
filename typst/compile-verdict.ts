/**
 * What a compilation means that has come to its own end: a file or a problem. Backend and command line ask here, so that
 * `check` refuses what the service refuses. What only a backend knows (signals, time, room) is in `backend/render/outcome.ts`.
 */
import type { Limits } from "../rules/limits.ts";
import type { Output } from "../rules/output-options.ts";
import { outputTooLarge, type Problem, problem, renderFailed, tooManyOutputFiles } from "../rules/problem.ts";
import { lowestPage } from "./command-line.ts";
import { type BrokenRule, describeBriefly } from "./finished-pdf/broken-rule.ts";
import type { PdfVerdict } from "./finished-pdf/finished-pdf.ts";

export interface Compilation {
  readonly exitCode: number;
  /** The size of all outputs together, before or after they are completed and packed: the largest that is known. */
  readonly outputBytes: number;
  /** Null unless these are the pages of an archive, counted. */
  readonly pageCount: number | null;
  /** Null unless it is a PDF that claims standards. */
  readonly standards: PdfVerdict | null;
}

export type FinalVerdict =
  | { readonly kind: "file" }
  /** `broken`: what the PDF breaks of its standards, if that is why. */
  | { readonly kind: "problem"; readonly problem: Problem; readonly broken: readonly BrokenRule[] };

export type CompileVerdict =
  | FinalVerdict
  /** Whether the document has this page decides. A template can imitate Typst's messages, so the page is compiled. */
  | { readonly kind: "unclear"; readonly page: number; readonly decide: (found: FoundPage) => FinalVerdict };

export type FoundPage = "there" | "missing" | "unknown";

/** Whether a compilation by `onePageArguments` found its page. @param exitCode null if Typst did not exit by itself */
export function foundPage(exitCode: number | null, outputBytes: number): FoundPage {
  if (outputBytes > 0) return "there";
  return exitCode === 0 ? "missing" : "unknown";
}

/**
 * Parts of the PDF that Typst writes for a selection that matches nothing: one page, its size in points, no content. Where
 * one is missing, the selection matches. Not a proof: a document may be a blank page of this size, too. Typst's own A4
 * has decimals.
 */
export const PLACEHOLDER_PARTS = [
  "/Type/Pages/Count 1/",
  "/MediaBox[0 0 595 842]/",
  "<</Length 8/Filter/FlateDecode>>",
] as const;

/** A panic and wrong arguments have other codes. */
const TYPST_ERROR_EXIT_CODE = 1;

/** Only Typst's diagnostics would say more, and a service never passes them on. */
export const REFUSED_BY_TYPST = fail("Typst could not produce the requested output from this template.");
const SEVERAL_PAGES = fail(
  'The document has several pages. Select one with "page", or all of them with "archive": "zip".',
);
const SELECTION_EMPTY = fail('The document has none of the pages that "pages" selects.');

export function judgeCompilation(compilation: Compilation, output: Output, limits: Limits): CompileVerdict {
  const { exitCode, outputBytes, pageCount, standards } = compilation;
  const { max_output_bytes, max_output_files } = limits;
  if (pageCount !== null && pageCount > max_output_files) return refuse(tooManyOutputFiles(max_output_files));
  // Before the exit code: Typst may fail because its output is cut off at the limit.
  if (outputBytes > max_output_bytes) return refuse(outputTooLarge(outputBytes, max_output_bytes));
  if (exitCode !== 0) {
    const isSingleImage = output.format !== "pdf" && output.archive === null && output.page === null;
    if (!isSingleImage || exitCode !== TYPST_ERROR_EXIT_CODE || outputBytes > 0) return REFUSED_BY_TYPST;
    return { kind: "unclear", page: 2, decide: (second) => (second === "there" ? SEVERAL_PAGES : REFUSED_BY_TYPST) };
  }
  if ((pageCount ?? outputBytes) === 0) return judgeEmpty(output);
  const judged = judgeStandards(standards);
  if (output.format !== "pdf" || output.pages === null) return judged;
  // If the selection matches nothing, Typst writes a PDF of one blank page. Pages have no gaps, so the lowest one decides.
  const decide = (lowest: FoundPage) => (lowest === "missing" ? SELECTION_EMPTY : judged);
  return { kind: "unclear", page: lowestPage(output.pages), decide };
}

/** Typst has succeeded and written no page: the template's failure only if the request chose pages. */
function judgeEmpty(output: Output): FinalVerdict {
  if (output.format !== "pdf" && output.page !== null) return fail(`The document has no page ${output.page}.`);
  return output.format === "pdf" || output.pages === null ? refuse(renderFailed()) : SELECTION_EMPTY;
}

function judgeStandards(standards: PdfVerdict | null): FinalVerdict {
  // A PDF that cannot be read is no reason to refuse a document: a later Typst may write its files in another form.
  return standards?.kind === "broken" ? fail(describeBriefly(standards.rules[0]), standards.rules) : { kind: "file" };
}

function fail(detail: string, broken: readonly BrokenRule[] = []): FinalVerdict {
  return refuse(problem("template_compile_failed", detail, {}), broken);
}

function refuse(why: Problem, broken: readonly BrokenRule[] = []): FinalVerdict {
  return { kind: "problem", problem: why, broken };
}
