/**
 * One render from a valid request to a finished file: project, Typst, outcome, archive.
 */
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import type { Output } from "../rules/output-options.ts";
import type { Problem } from "../rules/problem.ts";
import type { RenderRequest } from "../rules/render-request.ts";
import { type Page, packPages } from "./archive.ts";
import type { Extension } from "./file-name.ts";
import {
  CLIENT_GONE,
  compileFailed,
  outcomeOfEnd,
  outputTooLarge,
  renderFailed,
  tooManyOutputFiles,
} from "./outcome.ts";
import { type Project, stringBytes, writeProject } from "./project.ts";
import type { BackendSettings } from "./settings.ts";
import { isArchive, renderCommand, selectionProbeCommand, type TypstCommand } from "./typst-command.ts";
import { directorySize, runTypst, type TypstResult } from "./typst-process.ts";
import { programText } from "./typst-source.ts";

/** The phases of a render, in seconds, for metrics and the log. */
export interface PhaseSeconds {
  prepare?: number;
  compile?: number;
  archive?: number;
}

export interface RenderedFile {
  readonly bytes: Uint8Array;
  readonly extension: Extension;
}

export type RenderOutcome =
  | { readonly kind: "rendered"; readonly file: RenderedFile }
  | { readonly kind: "refused"; readonly problem: Problem }
  | { readonly kind: typeof CLIENT_GONE };

/**
 * Renders a request.
 *
 * @param body the bytes that were judged; the request's spans point into it.
 * @param signal aborted when the client goes away: the render is killed at once.
 * @param phases filled in as the phases end.
 * @throws where the machine fails; the temporary project is removed in any case.
 */
export async function render(
  settings: BackendSettings,
  body: Uint8Array,
  request: RenderRequest,
  signal: AbortSignal,
  phases: PhaseSeconds,
): Promise<RenderOutcome> {
  const deadline = performance.now() + settings.renderTimeoutSeconds * 1000;
  const project = await timed(phases, "prepare", () => writeProject(settings.workDirectory, body, request));
  if ("code" in project) return { kind: "refused", problem: project };
  try {
    const input = programText(stringBytes(body, request.source));
    const execute = (command: TypstCommand) =>
      runTypst({
        typstPath: settings.typstPath,
        command,
        input,
        maxOutputBytes: settings.limits.max_output_bytes,
        timeoutMilliseconds: Math.max(1, deadline - performance.now()),
        signal,
        outputDirectory: project.outputDirectory,
      });
    const { output } = request;
    const result = await timed(phases, "compile", () => execute(renderCommand(settings, project, output)));
    const failure = outcomeOfEnd(result, settings);
    if (failure !== null) return refusal(failure);
    if (isArchive(output)) return await timed(phases, "archive", () => archiveOutcome(settings, project, output));
    return await directOutcome(settings, project, output, result, execute);
  } finally {
    await project.remove();
  }
}

function refusal(failure: Problem | typeof CLIENT_GONE): RenderOutcome {
  return failure === CLIENT_GONE ? { kind: CLIENT_GONE } : { kind: "refused", problem: failure };
}

async function directOutcome(
  settings: BackendSettings,
  project: Project,
  output: Output,
  result: TypstResult,
  execute: (command: TypstCommand) => Promise<TypstResult>,
): Promise<RenderOutcome> {
  if (result.output.length === 0) {
    // Typst prints no image and exits 0 when the page does not exist.
    const isPageMissing = output.format !== "pdf" && output.page !== null;
    return refusal(isPageMissing ? compileFailed() : renderFailed());
  }
  if (output.format === "pdf" && output.pages !== null && mayBePlaceholder(result.output)) {
    const probe = await execute(selectionProbeCommand(settings, project, output.pages));
    const failure =
      probe.end.kind === "stopped" && probe.end.reason === "output-too-large" ? null : outcomeOfEnd(probe, settings);
    if (failure !== null) return refusal(failure);
    if (probe.outputBytes === 0) return refusal(compileFailed());
  }
  return { kind: "rendered", file: { bytes: result.output, extension: output.format } };
}

/**
 * Whether a PDF can be the single blank page that Typst writes for a selection that matches nothing. That page measures
 * 595 by 842 points exactly, where A4 of a document has decimals; a document may choose that size too, hence "may".
 */
function mayBePlaceholder(pdf: Buffer): boolean {
  return pdf.includes("/MediaBox[0 0 595 842]");
}

async function archiveOutcome(settings: BackendSettings, project: Project, output: Output): Promise<RenderOutcome> {
  const { max_output_bytes, max_output_files } = settings.limits;
  const names = await readdir(project.outputDirectory);
  if (names.length === 0) return refusal(output.pages === null ? renderFailed() : compileFailed());
  if (names.length > max_output_files) return refusal(tooManyOutputFiles(settings));
  const size = await directorySize(project.outputDirectory);
  if (size > max_output_bytes) return refusal(outputTooLarge(size, settings));
  const pages = await Promise.all(names.map((name) => readPage(project.outputDirectory, name)));
  const bytes = await packPages(pages, output.format === "png" ? "png" : "svg");
  if (bytes.length > max_output_bytes) return refusal(outputTooLarge(bytes.length, settings));
  return { kind: "rendered", file: { bytes, extension: "zip" } };
}

async function readPage(directory: string, name: string): Promise<Page> {
  return { number: Number(name), bytes: await readFile(join(directory, name)) };
}

async function timed<Result>(
  phases: PhaseSeconds,
  phase: keyof PhaseSeconds,
  work: () => Promise<Result>,
): Promise<Result> {
  const started = performance.now();
  try {
    return await work();
  } finally {
    phases[phase] = (performance.now() - started) / 1000;
  }
}
