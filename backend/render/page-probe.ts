/**
 * Finds out whether a document has a certain page, by compiling it again for that page alone. It does not count pages.
 *
 * Typst's messages prove nothing, because a template can make text that looks like one. A printed page does.
 */
import type { Output } from "../../rules/output-options.ts";
import type { BackendSettings } from "../settings.ts";
import { lowestPage } from "../typst/command-line.ts";
import type { TypstResult } from "../typst/process.ts";
import { CLIENT_GONE, compileFailed, outcomeOfEnd, type RenderFailure } from "./outcome.ts";
import type { Spool } from "./spool.ts";
import { renderTimeout, timeoutCauseOf } from "./timeouts.ts";

/** Compiles the document again and prints one page. `outputBytes` of the result is 0 if there is no such page. */
export type PrintPage = (page: number) => Promise<TypstResult>;

/** The exit code for a template that Typst rejects. A panic and wrong arguments have other codes. */
const TYPST_ERROR_EXIT_CODE = 1;

/** The page size, in points, of the blank page that Typst writes for a selection that matches nothing. */
const PLACEHOLDER_MEDIA_BOX = "/MediaBox[0 0 595 842]";

/**
 * Why a render failed: `failure`, or that a single image was requested of a document with several pages. The document is
 * compiled again only if the latter is possible.
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
 * The failure of a selection that matches no page; null if it matches. For such a selection Typst exits with 0 and writes a
 * PDF of one blank page. Pages are numbered without gaps, so a selection matches if its lowest page exists.
 */
export async function failureOfSelection(
  pages: string,
  pdf: Spool,
  printPage: PrintPage,
  settings: BackendSettings,
): Promise<RenderFailure | null> {
  if (!(await mayBePlaceholder(pdf))) return null;
  const lowest = await printPage(lowestPage(pages));
  // The page exists, even if the probe was stopped because it was too large.
  if (lowest.outputBytes > 0) return null;
  const failure = outcomeOfEnd(lowest, settings) ?? compileFailed({ kind: "selection-empty" });
  const hasTimedOut = failure !== CLIENT_GONE && timeoutCauseOf(failure) !== undefined;
  return hasTimedOut ? renderTimeout("page_probe", settings) : failure;
}

/** Not a proof: a document may have this page size, too. Typst's own A4 has decimals. */
function mayBePlaceholder(pdf: Spool): Promise<boolean> {
  return pdf.includes(PLACEHOLDER_MEDIA_BOX);
}
