/**
 * Which pages a document has, where Typst does not say so in a form that can be trusted.
 *
 * Its messages would say it, but a template can write a text that looks like one. That a page can be printed is a fact:
 * the document is compiled once more, for that page alone.
 */
import type { Output } from "../../rules/output-options.ts";
import type { BackendSettings } from "../settings.ts";
import { lowestPage } from "../typst/command-line.ts";
import type { TypstResult } from "../typst/process.ts";
import { CLIENT_GONE, compileFailed, outcomeOfEnd, type RenderFailure } from "./outcome.ts";
import type { Spool } from "./spool.ts";

/** Compiles the document again and prints one page. `outputBytes` of the result is 0 where there is no such page. */
export type PrintPage = (page: number) => Promise<TypstResult>;

/** The exit code for a template that Typst refuses. A panic and wrong arguments have others. */
const TYPST_ERROR_EXIT_CODE = 1;

/** The page size, in points, of the blank page that Typst writes for a selection that matches nothing. */
const PLACEHOLDER_MEDIA_BOX = "/MediaBox[0 0 595 842]";

/**
 * Why a render failed, where the cause may be that one image was requested of a document with several pages. Only such a
 * failure costs a second compile; any other is `failure`.
 */
export async function explainFailure(
  failure: RenderFailure,
  wanted: Output,
  { end, outputBytes }: TypstResult,
  printPage: PrintPage,
  clientGone: AbortSignal,
): Promise<RenderFailure> {
  const isSingleImage = wanted.format !== "pdf" && wanted.archive === null && wanted.page === null;
  const isRefused = end.kind === "exited" && end.exitCode === TYPST_ERROR_EXIT_CODE && outputBytes === 0;
  if (!isSingleImage || !isRefused) return failure;
  const secondPage = await printPage(2);
  if (clientGone.aborted) return CLIENT_GONE;
  return secondPage.outputBytes === 0 ? failure : compileFailed({ kind: "several-pages" });
}

/**
 * Why a PDF is not the answer, null where it is: Typst exits with 0 and writes one blank page for a selection that matches
 * nothing. Pages are numbered without gaps, so a selection matches when its lowest page exists.
 */
export async function failureOfSelection(
  wanted: Output,
  pdf: Spool,
  printPage: PrintPage,
  settings: BackendSettings,
): Promise<RenderFailure | null> {
  if (wanted.format !== "pdf" || wanted.pages === null || !(await mayBePlaceholder(pdf))) return null;
  const lowest = await printPage(lowestPage(wanted.pages));
  // However large it was, a page that was printed is a page that exists.
  if (lowest.outputBytes > 0) return null;
  return outcomeOfEnd(lowest, settings) ?? compileFailed({ kind: "selection-empty" });
}

/** A document may choose the size of the blank page too, so this is no proof. A4 in a document has decimals. */
function mayBePlaceholder(pdf: Spool): Promise<boolean> {
  return pdf.includes(PLACEHOLDER_MEDIA_BOX);
}
