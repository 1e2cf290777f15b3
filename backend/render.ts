/**
 * One render from a valid request to a finished file: project, Typst, outcome, archive.
 */
import { readdir, readFile, statfs } from "node:fs/promises";
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
import { stringBytes } from "./project.ts";
import type { BackendSettings } from "./settings.ts";
import { selectionProbeArguments } from "./typst-command.ts";
import { directoryBytes, type TypstProcess, type TypstResult } from "./typst-process.ts";
import { programText } from "./typst-source.ts";
import type { StartedRender, TypstStarter } from "./typst-starter.ts";

/** With less than this left, a page that could not be written is the disk's failure, not the template's. */
const FULL_DISK_BYTES = 1024 * 1024;

/** The phases of a render, in seconds. */
export interface PhaseSeconds {
  /** Until a process that waits is found, or a new one is asked for; the new one starts while its files are written. */
  start?: number;
  compile?: number;
  archive?: number;
}

/** What is measured of a render, for metrics and the log: filled in as it goes on. */
export interface RenderMeasures {
  readonly phases: PhaseSeconds;
  peakMemoryBytes: number | null;
}

export interface RenderedFile {
  readonly bytes: Uint8Array;
  readonly extension: Extension;
}

export type RenderOutcome =
  | { readonly kind: "rendered"; readonly file: RenderedFile }
  | { readonly kind: "refused"; readonly problem: Problem }
  | { readonly kind: typeof CLIENT_GONE };

/** A valid request with the bytes into which its spans point. */
export interface JudgedRequest {
  readonly body: Uint8Array;
  readonly request: RenderRequest;
}

/**
 * Renders a request.
 *
 * @param signal aborted when the client goes away: the render is killed at once.
 * @param measures filled in as the phases end.
 * @throws where the machine fails; the temporary project is removed in any case, soon after.
 */
export async function render(
  settings: BackendSettings,
  starter: TypstStarter,
  judged: JudgedRequest,
  signal: AbortSignal,
  measures: RenderMeasures,
): Promise<RenderOutcome> {
  const { output } = judged.request;
  const { phases } = measures;
  const task: RenderTask = {
    judged,
    input: programText(stringBytes(judged.body, judged.request.source)),
    deadline: performance.now() + settings.renderTimeoutSeconds * 1000,
    signal,
  };
  let started = await timed(phases, "start", () => starter.take(output));
  try {
    let result = await timed(phases, "compile", () => compile(starter, started, task));
    if (started.isWarm && "end" in result && (diedWhileWaiting(result) || lostItsProject(result, started, starter))) {
      // What killed it while it waited is no matter of this request's: it gets a process that is new.
      starter.discardLater(started);
      started = await starter.start(output);
      result = await timed(phases, "compile", () => compile(starter, started, task));
    }
    if ("code" in result) return refuse(result);
    measures.peakMemoryBytes = result.peakMemoryBytes;
    const { project } = started;
    const failure = outcomeOfEnd(result, settings);
    if (failure !== null) {
      if (project.outputDirectory !== null) await throwIfDiskIsFull(settings);
      return refuse(failure);
    }
    const { outputDirectory } = project;
    if (outputDirectory !== null) {
      return await timed(phases, "archive", () => archiveOutcome(settings, outputDirectory, output));
    }
    return await directOutcome(settings, output, result, (pages) => {
      const probe = selectionProbeArguments(settings, starter.view(project), pages);
      return perform(starter.startIn(project, probe), task, null);
    });
  } finally {
    // The answer does not wait for the project to be gone.
    starter.discardLater(started);
  }
}

/** What one render is to do, whichever process does it. */
interface RenderTask {
  readonly judged: JudgedRequest;
  /** The program text. */
  readonly input: readonly Buffer[];
  /** When the render has taken too long, by `performance.now()`. */
  readonly deadline: number;
  readonly signal: AbortSignal;
}

/** Fills the project of a started process and lets it compile. */
async function compile(
  starter: TypstStarter,
  { project, process }: StartedRender,
  task: RenderTask,
): Promise<TypstResult | Problem> {
  const { body, request } = task.judged;
  const isOver = () => task.signal.aborted || performance.now() > task.deadline;
  const refusal = await project.fill(body, request, isOver);
  if (refusal !== null) return refusal;
  const result = perform(process, task, project.outputDirectory);
  // While Typst compiles there is time to start the next process; before or after, a client waits for it.
  starter.prepareNext(request.output);
  return result;
}

function perform(process: TypstProcess, task: RenderTask, outputDirectory: string | null): Promise<TypstResult> {
  return process.perform({
    input: task.input,
    timeoutMilliseconds: Math.max(1, task.deadline - performance.now()),
    signal: task.signal,
    outputDirectory,
  });
}

/** Whether something else than the render and its limits has ended a process, which then may have happened before. */
function diedWhileWaiting({ end, ranOutOfMemory }: TypstResult): boolean {
  return end.kind === "not-started" || (end.kind === "signalled" && end.signal === "SIGKILL" && !ranOutOfMemory);
}

/** Whether the template may have failed only because somebody has removed the sandbox from below the process. */
function lostItsProject({ end }: TypstResult, started: StartedRender, starter: TypstStarter): boolean {
  return end.kind === "exited" && end.exitCode !== 0 && !starter.hasSeenWholeSandbox(started);
}

/** Typst says no more than "failed" where it cannot write a page; then the disk is asked. */
async function throwIfDiskIsFull({ workDirectory }: BackendSettings): Promise<void> {
  const { bavail, bsize } = await statfs(workDirectory);
  if (bavail * bsize < FULL_DISK_BYTES) throw new Error("the disk of the work directory is full");
}

function refuse(failure: Problem | typeof CLIENT_GONE): RenderOutcome {
  return failure === CLIENT_GONE ? { kind: CLIENT_GONE } : { kind: "refused", problem: failure };
}

async function directOutcome(
  settings: BackendSettings,
  output: Output,
  result: TypstResult,
  probeSelection: (pages: string) => Promise<TypstResult>,
): Promise<RenderOutcome> {
  if (result.output.length === 0) {
    // Typst prints no image and exits 0 when the page does not exist.
    const isPageMissing = output.format !== "pdf" && output.page !== null;
    return refuse(isPageMissing ? compileFailed() : renderFailed());
  }
  if (output.format === "pdf" && output.pages !== null && mayBePlaceholder(result.output)) {
    const probe = await probeSelection(output.pages);
    // However large it was, a page that was printed is a page that exists.
    if (probe.outputBytes === 0) return refuse(outcomeOfEnd(probe, settings) ?? compileFailed());
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

async function archiveOutcome(settings: BackendSettings, directory: string, output: Output): Promise<RenderOutcome> {
  const { max_output_bytes, max_output_files } = settings.limits;
  const names = await readdir(directory);
  if (names.length === 0) return refuse(output.pages === null ? renderFailed() : compileFailed());
  if (names.length > max_output_files) return refuse(tooManyOutputFiles(settings));
  const size = await directoryBytes(directory);
  if (size > max_output_bytes) return refuse(outputTooLarge(size, settings));
  const pages = await Promise.all(names.map((name) => readPage(directory, name)));
  const bytes = await packPages(pages, output.format === "png" ? "png" : "svg");
  if (bytes.length > max_output_bytes) return refuse(outputTooLarge(bytes.length, settings));
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
