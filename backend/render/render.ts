/**
 * One render from a valid request to a finished output: project, Typst, outcome, archive.
 */

import { readdir, statfs } from "node:fs/promises";
import { join } from "node:path";
import type { Output } from "../../rules/output-options.ts";
import type { Problem } from "../../rules/problem.ts";
import type { RenderRequest } from "../../rules/render-request.ts";
import type { ByteBudget, Reservation } from "../admission/byte-budget.ts";
import { ServiceFailure } from "../error-log.ts";
import type { Extension } from "../http/file-name.ts";
import type { Sandbox } from "../sandbox/sandbox.ts";
import type { BackendSettings } from "../settings.ts";
import { lowestPage, pageProbeArguments, type RenderCommand } from "../typst/command-line.ts";
import {
  DISCARD_OUTPUT,
  directoryBytes,
  type OutputTaker,
  type TypstProcess,
  type TypstResult,
  type TypstTask,
} from "../typst/process.ts";
import { programText } from "../typst/program-text.ts";
import type { RenderStarter, StartedRender } from "../typst/render-starter.ts";
import type { WarmPool } from "../typst/warm-pool.ts";
import { isFont } from "../work-directory/font-links.ts";
import { projectBytes, type RenderDirectory, stringBytes } from "../work-directory/render-directory.ts";
import type { WorkDirectoryWatch } from "../work-directory/watch.ts";
import { packPages } from "./archive.ts";
import {
  CLIENT_GONE,
  compileFailed,
  noTemporarySpace,
  outcomeOfEnd,
  outputTooLarge,
  renderFailed,
  renderTimeout,
  tooManyOutputFiles,
} from "./outcome.ts";
import { type AppendResult, Spool } from "./spool.ts";
import { SvgEscaper } from "./svg-escaping.ts";

/** With less than this left, a page that could not be written is the disk's failure, not the template's. */
const FULL_DISK_BYTES = 1024 * 1024;

/**
 * For writing the files of a request, which take milliseconds unless there are thousands of folders on a busy disk. While
 * they are written, nothing limits the processor time.
 */
const MAX_LAYOUT_MILLISECONDS = 5000;

/** Of a template that Typst has refused; a panic and wrong arguments have others. */
const TYPST_ERROR_EXIT_CODE = 1;

/** What every render stands on. */
export interface RenderParts {
  readonly settings: BackendSettings;
  readonly sandbox: Sandbox;
  readonly starter: RenderStarter;
  readonly warmPool: WarmPool;
  readonly workDirectoryWatch: WorkDirectoryWatch;
  /** The disk space of all projects and outputs. */
  readonly tempSpace: ByteBudget;
  /** The memory of all outputs that are small enough to stay in it. */
  readonly outputMemory: ByteBudget;
}

/** A valid request with the bytes into which its spans point, and whose it is. */
export interface ValidRequest {
  readonly body: Uint8Array;
  readonly request: RenderRequest;
  readonly caller: string;
}

/** The phases of a render, in seconds. */
export interface PhaseSeconds {
  /** Until a process that waits is found, or a new one is asked for; the new one starts while its files are written. */
  start?: number;
  compile?: number;
  archive?: number;
}

/** A finished output. Whoever gets it closes it. */
export interface RenderedFile {
  readonly output: Spool;
  readonly extension: Extension;
}

export type RenderOutcome =
  | { readonly kind: "rendered"; readonly file: RenderedFile }
  | { readonly kind: "refused"; readonly problem: Problem }
  | { readonly kind: typeof CLIENT_GONE };

/** An outcome with what was measured on the way to it, for metrics and the log. */
export interface RenderReport {
  readonly outcome: RenderOutcome;
  readonly phases: PhaseSeconds;
  readonly peakMemoryBytes: number | null;
}

/**
 * Renders a request.
 *
 * @param signal aborted when the client goes away: the render is stopped at once.
 * @throws where the machine fails; the temporary project is removed in any case, soon after.
 */
export async function render(parts: RenderParts, valid: ValidRequest, signal: AbortSignal): Promise<RenderReport> {
  const job = new RenderJob(parts, valid, signal);
  try {
    const outcome = await job.run();
    return { outcome, phases: job.phases, peakMemoryBytes: job.peakMemoryBytes };
  } finally {
    job.end();
  }
}

/** The life of one render: one deadline, one client, and what it holds. */
class RenderJob {
  readonly phases: PhaseSeconds = {};
  peakMemoryBytes: number | null = null;
  readonly #parts: RenderParts;
  readonly #valid: ValidRequest;
  readonly #clientGone: AbortSignal;
  /** Aborted when the client goes away or the deadline has passed. */
  readonly #over: AbortSignal;
  readonly #deadline: number;
  /** A second process has a processor time of its own: it must not double what the render may use. */
  readonly #computeDeadline: number;
  /** The program text. */
  readonly #input: readonly Buffer[];
  readonly #command: RenderCommand;
  readonly #projectBytes: number;
  readonly #space: Reservation;
  #started: StartedRender | null = null;

  constructor(parts: RenderParts, valid: ValidRequest, clientGone: AbortSignal) {
    const timeoutMilliseconds = parts.settings.renderTimeoutSeconds * 1000;
    this.#parts = parts;
    this.#valid = valid;
    this.#clientGone = clientGone;
    this.#over = AbortSignal.any([clientGone, AbortSignal.timeout(timeoutMilliseconds)]);
    this.#deadline = performance.now() + timeoutMilliseconds;
    this.#computeDeadline = performance.now() + 1000 * parts.settings.renderCpuSeconds;
    this.#input = programText(stringBytes(valid.body, valid.request.source));
    const { output, files } = valid.request;
    this.#command = { output, bringsFonts: files.some(({ key }) => isFont(key)) };
    this.#projectBytes = projectBytes(valid.request);
    this.#space = parts.tempSpace.open(valid.caller);
  }

  async run(): Promise<RenderOutcome> {
    const { settings, starter, warmPool, tempSpace, outputMemory } = this.#parts;
    const { request, caller } = this.#valid;
    if (!this.#space.resize(this.#projectBytes)) return refuse(noTemporarySpace());
    const output = new Spool(
      {
        directory: settings.workDirectory,
        maxOutputBytes: settings.limits.max_output_bytes,
        memory: outputMemory,
        disk: tempSpace,
      },
      caller,
    );
    let isHandedOver = false;
    try {
      let isWarm = true;
      let started = await timed(this.phases, "start", async () => {
        const waiting = await warmPool.take(this.#command);
        isWarm = waiting !== null;
        return waiting ?? starter.start(this.#command);
      });
      this.#started = started;
      let taker = outputTaker(request.output, output);
      let result = await timed(this.phases, "compile", () => this.#compile(started, taker));
      if (isWarm && isResult(result) && output.size === 0 && wasLostWhileWaiting(result)) {
        // What ended it while it waited has nothing to do with this request, which gets a new process.
        void starter.discard(started);
        started = await starter.start(this.#command);
        this.#started = started;
        taker = outputTaker(request.output, output);
        result = await timed(this.phases, "compile", () => this.#compile(started, taker));
      }
      if (isResult(result)) result = { ...result, outputTaken: await taker.complete(result.outputTaken) };
      const outcome = isResult(result) ? await this.#outcomeOf(started, result, output) : refuse(result);
      isHandedOver = outcome.kind === "rendered";
      return outcome;
    } finally {
      if (!isHandedOver) await output.close();
    }
  }

  /** Gives up the process and its project. The answer does not wait for the project to be gone. */
  end(): void {
    const started = this.#started;
    if (started === null) this.#space.release();
    else void this.#parts.starter.discard(started).then(() => this.#space.release());
  }

  /** Fills the project of a started process and lets it compile. */
  async #compile(started: StartedRender, output: OutputTaker): Promise<TypstResult | Problem | typeof CLIENT_GONE> {
    const { body, request } = this.#valid;
    const layoutOver = AbortSignal.any([this.#over, AbortSignal.timeout(MAX_LAYOUT_MILLISECONDS)]);
    const refusal = await started.renderDirectory.fill(body, request, layoutOver);
    if (refusal !== null) return refusal;
    // Without all its files, a template would fail for a reason of its own.
    if (layoutOver.aborted) return this.#outcomeOfStop();
    const { outputDirectory } = started.renderDirectory;
    const result = this.#perform(
      started.process,
      output,
      outputDirectory === null
        ? null
        : { directory: outputDirectory, hasRoomFor: (bytes) => this.#space.resize(this.#projectBytes + bytes) },
    );
    // While Typst compiles there is time to start the next process; before or after, a client waits for it.
    this.#parts.warmPool.prepareNext(this.#command);
    return result;
  }

  #perform(
    process: TypstProcess,
    output: OutputTaker,
    files: TypstTask["files"],
    deadline = this.#deadline,
  ): Promise<TypstResult> {
    return process.perform({
      input: this.#input,
      timeoutMilliseconds: Math.max(1, deadline - performance.now()),
      signal: this.#clientGone,
      output,
      files,
    });
  }

  async #outcomeOf({ renderDirectory }: StartedRender, result: TypstResult, output: Spool): Promise<RenderOutcome> {
    const { settings } = this.#parts;
    this.peakMemoryBytes = result.peakMemoryBytes;
    const failure = outcomeOfEnd(result, settings);
    const { outputDirectory } = renderDirectory;
    if (failure !== null) {
      await this.#parts.workDirectoryWatch.expectWhole();
      if (outputDirectory !== null) await throwIfDiskIsFull(settings);
      return refuse(
        this.#mayHaveSeveralPages(result) ? await this.#probeSecondPage(renderDirectory, failure) : failure,
      );
    }
    if (outputDirectory !== null) {
      return timed(this.phases, "archive", () => this.#pack(outputDirectory, output));
    }
    return this.#directOutcome(renderDirectory, output);
  }

  async #directOutcome(renderDirectory: RenderDirectory, output: Spool): Promise<RenderOutcome> {
    const wanted = this.#valid.request.output;
    if (output.size === 0) {
      // Typst prints no image and exits 0 when the page does not exist.
      const page = wanted.format === "pdf" ? null : wanted.page;
      return refuse(page === null ? renderFailed() : compileFailed({ kind: "page-missing", page }));
    }
    if (wanted.format === "pdf" && wanted.pages !== null && (await mayBePlaceholder(output))) {
      const probe = await this.#probePage(renderDirectory, lowestPage(wanted.pages));
      // However large it was, a page that was printed is a page that exists.
      if (probe.outputBytes === 0) {
        return refuse(outcomeOfEnd(probe, this.#parts.settings) ?? compileFailed({ kind: "selection-empty" }));
      }
    }
    return { kind: "rendered", file: { output, extension: wanted.format } };
  }

  /** Compiles the document once more: it prints the page, if there is such a one. */
  #probePage(renderDirectory: RenderDirectory, page: number): Promise<TypstResult> {
    const { settings, sandbox, starter } = this.#parts;
    const probe = pageProbeArguments(settings, sandbox.view(renderDirectory), this.#command, page);
    return this.#perform(starter.startIn(renderDirectory, probe), DISCARD_OUTPUT, null, this.#computeDeadline);
  }

  /** Whether the cause of a failure may be that one image was asked for and the document has several pages. */
  #mayHaveSeveralPages({ end, outputBytes }: TypstResult): boolean {
    const wanted = this.#valid.request.output;
    const isSingleImage = wanted.format !== "pdf" && wanted.archive === null && wanted.page === null;
    return isSingleImage && end.kind === "exited" && end.exitCode === TYPST_ERROR_EXIT_CODE && outputBytes === 0;
  }

  /**
   * What is to be said of a failure that may come from several pages. Typst's message would say it, but a template may
   * write what looks like one; a second page that is printed is a fact. It costs a failed image a second compile.
   */
  async #probeSecondPage(
    renderDirectory: RenderDirectory,
    failure: Problem | typeof CLIENT_GONE,
  ): Promise<Problem | typeof CLIENT_GONE> {
    const probe = await this.#probePage(renderDirectory, 2);
    if (this.#clientGone.aborted) return CLIENT_GONE;
    return probe.outputBytes === 0 ? failure : compileFailed({ kind: "several-pages" });
  }

  async #pack(directory: string, archive: Spool): Promise<RenderOutcome> {
    const { settings } = this.#parts;
    const { max_output_bytes, max_output_files } = settings.limits;
    const { output } = this.#valid.request;
    const names = await readdir(directory);
    if (names.length === 0) return refuse(noPage(output));
    if (names.length > max_output_files) return refuse(tooManyOutputFiles(settings));
    const pages = names.map((name) => ({ number: Number(name), path: join(directory, name) }));
    const size = await directoryBytes(directory);
    if (size > max_output_bytes) return refuse(outputTooLarge(size, settings));
    if (!this.#space.resize(this.#projectBytes + size)) return refuse(noTemporarySpace());
    const extension = output.format === "png" ? "png" : "svg";
    const { result, pageBytes } = await packPages(pages, extension, archive, max_output_bytes, this.#over);
    switch (result) {
      case "kept":
        return { kind: "rendered", file: { output: archive, extension: "zip" } };
      case "too-large":
        return refuse(outputTooLarge(Math.max(pageBytes, archive.size), settings));
      case "no-room":
        return refuse(noTemporarySpace());
      case "stopped":
        return refuse(this.#outcomeOfStop());
    }
  }

  /** Why the render was stopped. */
  #outcomeOfStop(): Problem | typeof CLIENT_GONE {
    return this.#clientGone.aborted ? CLIENT_GONE : renderTimeout(this.#parts.settings);
  }
}

/** What takes the standard output of a process, and what ends it. */
interface CompletedTaker extends OutputTaker {
  /** Appends what is left, if all was taken so far. */
  complete(taken: AppendResult): Promise<AppendResult>;
}

/** Appends to an output what Typst writes, an SVG in its escaped form. */
function outputTaker(wanted: Output, output: Spool): CompletedTaker {
  if (wanted.format !== "svg") {
    return { append: (piece) => output.append(piece), complete: async (taken) => taken };
  }
  const escaper = new SvgEscaper();
  const appendAll = async (pieces: readonly Buffer[]): Promise<AppendResult> => {
    for (const piece of pieces) {
      const result = await output.append(piece);
      if (result !== "kept") return result;
    }
    return "kept";
  };
  return {
    append: (piece) => appendAll(escaper.push(piece)),
    complete: async (taken) => (taken === "kept" ? appendAll(escaper.end()) : taken),
  };
}

/** Whether something other than the render and its limits has ended a process, perhaps before its request came. */
function wasLostWhileWaiting({ end, ranOutOfMemory }: TypstResult): boolean {
  return end.kind === "not-started" || (end.kind === "signalled" && end.signal === "SIGKILL" && !ranOutOfMemory);
}

function isResult(result: TypstResult | Problem | typeof CLIENT_GONE): result is TypstResult {
  return typeof result === "object" && "end" in result;
}

/** A selection may match nothing; without one, every document has a page. */
function noPage(output: Output): Problem {
  return output.pages === null ? renderFailed() : compileFailed({ kind: "selection-empty" });
}

/** Typst says no more than "failed" where it cannot write a page; then the disk is asked. */
async function throwIfDiskIsFull({ workDirectory }: BackendSettings): Promise<void> {
  const { bavail, bsize } = await statfs(workDirectory);
  if (bavail * bsize < FULL_DISK_BYTES) throw new ServiceFailure("the disk of the work directory is full");
}

function refuse(failure: Problem | typeof CLIENT_GONE): RenderOutcome {
  return failure === CLIENT_GONE ? { kind: CLIENT_GONE } : { kind: "refused", problem: failure };
}

/**
 * Whether a PDF can be the single blank page that Typst writes for a selection that matches nothing. That page measures
 * 595 by 842 points exactly, where A4 of a document has decimals; a document may choose that size too, hence "may".
 */
function mayBePlaceholder(pdf: Spool): Promise<boolean> {
  return pdf.includes("/MediaBox[0 0 595 842]");
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
