/** Compiles a document again for one page, to see whether that exists. A template can imitate Typst's messages. */
import type { Output } from "../../rules/output-options.ts";
import { lowestPage } from "../../typst/command-line.ts";
import type { TypstReport } from "../typst/process.ts";
import { CLIENT_GONE, type RenderFailure, SELECTION_EMPTY, SEVERAL_PAGES } from "./outcome.ts";
import type { Spool } from "./spool.ts";

/** Compiles the document again and prints one page. `outputBytes` of the report is 0 if there is no such page. */
export type PrintPage = (page: number) => Promise<TypstReport>;

/** A panic and wrong arguments have other codes. */
const TYPST_ERROR_EXIT_CODE = 1;

/** The PDF that Typst writes for a selection that matches nothing: one page, its size in points, no content. */
const PLACEHOLDER_PARTS = ["/Type/Pages/Count 1/", "/MediaBox[0 0 595 842]/", "<</Length 8/Filter/FlateDecode>>"];

/** Why a render failed: `failure`, or that a single image was requested of a document with several pages. */
export async function explainFailure(
  failure: RenderFailure,
  { end, outputBytes }: TypstReport,
  wanted: Output,
  printPage: PrintPage,
): Promise<RenderFailure> {
  const isSingleImage = wanted.format !== "pdf" && wanted.archive === null && wanted.page === null;
  const isRefused = end.kind === "exited" && end.exitCode === TYPST_ERROR_EXIT_CODE && outputBytes === 0;
  if (!isSingleImage || !isRefused) return failure;
  const secondPage = await printPage(2);
  if (wasAbandoned(secondPage)) return CLIENT_GONE;
  return secondPage.outputBytes === 0 ? failure : SEVERAL_PAGES;
}

/**
 * Null if the selection matches. If not, Typst writes a PDF of one blank page. Pages have no gaps, so the lowest one
 * decides. Only a second compile that finishes shows that there is no such page.
 */
export async function failureOfSelection(
  pages: string,
  pdf: Spool,
  printPage: PrintPage,
): Promise<RenderFailure | null> {
  if (!(await mayBePlaceholder(pdf))) return null;
  const probe = await printPage(lowestPage(pages));
  if (wasAbandoned(probe)) return CLIENT_GONE;
  const { end, outputBytes } = probe;
  return end.kind === "exited" && end.exitCode === 0 && outputBytes === 0 ? SELECTION_EMPTY : null;
}

function wasAbandoned({ end }: TypstReport): boolean {
  return end.kind === "stopped" && end.reason === "client-gone";
}

/** Not a proof: a document may be a blank page of this size, too. Typst's own A4 has decimals. */
async function mayBePlaceholder(pdf: Spool): Promise<boolean> {
  for (const part of PLACEHOLDER_PARTS) if (!(await pdf.includes(part))) return false;
  return true;
}
