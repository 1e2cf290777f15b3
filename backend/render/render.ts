/** One render, from a valid request to a finished output: reserve disk space, compile, judge the end, pack pages. */
import type { ParsedRequest } from "../../rules/render-request.ts";
import { renderTimeoutWithin } from "../../rules/render-time.ts";
import { onePageArguments, type RenderCommand, type TypstPaths } from "../../typst/command-line.ts";
import { type FoundPage, foundPage, judgeCompilation, PLACEHOLDER_PARTS } from "../../typst/compile-verdict.ts";
import type { BrokenRuleId } from "../../typst/finished-pdf/broken-rule.ts";
import { type FinishedPdf, finishedPdfOf } from "../../typst/finished-pdf/finished-pdf.ts";
import { isFont } from "../../typst/fonts/font-names.ts";
import { completionOf } from "../../typst/output-completion.ts";
import { programText } from "../../typst/program-text.ts";
import type { ByteBudget, Reservation } from "../admission/byte-budget.ts";
import type { PageLimits, TypstProcess, TypstReport } from "../compiler/process.ts";
import type { TypstSupervisor } from "../compiler/supervisor.ts";
import type { WarmPool } from "../compiler/warm-pool.ts";
import { ServiceFailure } from "../error-log.ts";
import type { BackendSettings } from "../settings.ts";
import { projectBytes, stringBytes } from "../work-directory/render-directory.ts";
import { isDiskFull, type WorkDirectoryWatch } from "../work-directory/watch.ts";
import { packArchive } from "./archive.ts";
import { CLIENT_GONE, endOfRender, failBySpace, type RenderFailure, type RenderOutcome, refuse } from "./outcome.ts";
import { type PhaseRun, PhaseTimer, TimeLimit } from "./render-time.ts";
import { Spool } from "./spool.ts";

export interface RenderResources {
  readonly settings: BackendSettings;
  readonly supervisor: TypstSupervisor;
  readonly warmPool: WarmPool;
  readonly workDirectoryWatch: WorkDirectoryWatch;
  readonly tempSpace: ByteBudget;
  readonly outputMemory: ByteBudget;
}

export interface ValidRequest {
  readonly body: Uint8Array;
  readonly request: ParsedRequest;
  readonly caller: string;
  /** When the edge gives up, by `performance.now()`; infinite if it does not say. */
  readonly answerBy: number;
}

/** What a log line says of a PDF that does not keep its standards, or could not be read. */
export type PdfCheck = BrokenRuleId | "unread";

export interface RenderReport {
  readonly outcome: RenderOutcome;
  readonly runs: readonly PhaseRun[];
  readonly peakMemoryBytes: TypstReport["peakMemoryBytes"];
  readonly pdfCheck: PdfCheck | null;
}

/** @throws if the machine fails. The render directory is removed in any case, soon after. */
export async function render(
  resources: RenderResources,
  valid: ValidRequest,
  clientGone: AbortSignal,
): Promise<RenderReport> {
  const job = new RenderJob(resources, valid, clientGone);
  try {
    const outcome = await job.run();
    return { outcome, runs: job.phases.runs, peakMemoryBytes: job.peakMemoryBytes, pdfCheck: job.pdfCheck };
  } finally {
    job.end();
  }
}

class RenderJob {
  readonly phases = new PhaseTimer();
  peakMemoryBytes: number | null = null;
  pdfCheck: PdfCheck | null = null;
  readonly #resources: RenderResources;
  readonly #valid: ValidRequest;
  readonly #clientGone: AbortSignal;
  readonly #time: TimeLimit;
  readonly #command: RenderCommand;
  readonly #programText: readonly Buffer[];
  readonly #inputBytes: number;
  readonly #space: Reservation;
  /** Reserves disk space for pages, in addition to the files of the request. */
  readonly #admitPages: PageLimits["admit"] = (bytes) => {
    if (bytes > this.#resources.settings.limits.max_output_bytes) return "too-large";
    return this.#space.resize(this.#inputBytes + bytes) ? "kept" : "no-room";
  };
  #process: TypstProcess | null = null;
  /** Null unless the output claims a standard. */
  #finishedPdf: FinishedPdf | null = null;
  /** Resolves when nothing is left of a process that was lost before it. */
  #lostRemoved: Promise<void> = Promise.resolve();

  constructor(resources: RenderResources, valid: ValidRequest, clientGone: AbortSignal) {
    const { output, files, source } = valid.request;
    this.#resources = resources;
    this.#valid = valid;
    const { settings } = resources;
    const left = valid.answerBy - performance.now();
    this.#clientGone = clientGone;
    this.#time = new TimeLimit(settings, clientGone, renderTimeoutWithin(settings.renderTimeoutSeconds, left));
    this.#command = { output, fontCount: files.filter(({ key }) => isFont(key)).length };
    this.#programText = programText(stringBytes(valid.body, source));
    this.#inputBytes = projectBytes(valid.request);
    this.#space = resources.tempSpace.open(valid.caller);
  }

  async run(): Promise<RenderOutcome> {
    const { settings, tempSpace, outputMemory } = this.#resources;
    if (!this.#space.resize(this.#inputBytes)) return failBySpace();
    const { workDirectory: directory, limits } = settings;
    const space = { directory, maxOutputBytes: limits.max_output_bytes, memory: outputMemory, disk: tempSpace };
    const output = new Spool(space, this.#valid.caller);
    let isHandedOver = false;
    try {
      const outcome = await this.#renderInto(output);
      // Not earlier: a render that still held the only slot would count as load, and the process would wait without its
      // fonts.
      this.#resources.warmPool.prepareNext(this.#command);
      isHandedOver = outcome.kind === "rendered";
      return outcome;
    } finally {
      if (!isHandedOver) await output.close();
    }
  }

  async #renderInto(output: Spool): Promise<RenderOutcome> {
    const { supervisor, warmPool } = this.#resources;
    const { process, hasWaited } = await this.phases.time("start", () => warmPool.take(this.#command));
    this.#process = process;
    const compiled = await this.#compileIn(process, output);
    const deservesRetry = (report: TypstReport) =>
      report.end.kind === "not-begun" ||
      (hasWaited && wasLost(report)) ||
      // A crash with several threads may be their fault (shared memory, small stacks): retry with one before the document
      // is blamed.
      (process.threads > 1 && report.end.kind === "signalled");
    if (!("end" in compiled) || this.#time.isOver || !deservesRetry(compiled)) {
      return this.#judge(compiled, process, output);
    }
    // Discarded twice, its directory could be shared by two renders.
    this.#process = null;
    await output.clear();
    this.#lostRemoved = supervisor.discard(process);
    // The space that is reserved is for the files and pages of one attempt.
    if (!(await this.#time.endsInTime(this.#lostRemoved))) {
      if (this.#clientGone.aborted) return CLIENT_GONE;
      throw new ServiceFailure("what a lost process has left cannot be removed");
    }
    const second = await this.phases.time("start", () => supervisor.start(this.#command));
    this.#process = second;
    return this.#judge(await this.#compileIn(second, output), second, output);
  }

  async #compileIn(process: TypstProcess, output: Spool): Promise<TypstReport | RenderFailure> {
    const { body, request } = this.#valid;
    const failure = await this.phases.time("files", () =>
      this.#time.limitFill((over) => process.directory.fill(body, request, over)),
    );
    if (failure !== null) return failure;
    const maxFiles = this.#resources.settings.limits.max_output_files;
    const wanted = this.#command.output;
    const pdf = finishedPdfOf(wanted);
    this.#finishedPdf = pdf;
    const completion = completionOf(wanted);
    const sink = {
      append: (chunk: Buffer) => {
        pdf?.push(chunk);
        return output.append(...completion.push(chunk));
      },
      end: () => output.append(...completion.end()),
    };
    const pages = { maxFiles, admit: this.#admitPages };
    const task = { programText: this.#programText, over: this.#time.over, sink, pages };
    return this.phases.time("compile", () => process.perform(task));
  }

  async #judge(compiled: TypstReport | RenderFailure, process: TypstProcess, output: Spool): Promise<RenderOutcome> {
    if (!("end" in compiled)) return compiled;
    const report = { ...compiled, outputBytes: Math.max(compiled.outputBytes, output.size) };
    const { settings, workDirectoryWatch } = this.#resources;
    const wanted = this.#valid.request.output;
    const directory = process.directory.outputDirectory;
    this.peakMemoryBytes = report.peakMemoryBytes;
    const end = endOfRender(report, settings, this.#time);
    if (end.kind !== "exited" || end.exitCode !== 0) {
      await workDirectoryWatch.expectWhole();
      // Of a full disk, Typst only says "failed".
      if (directory !== null && (await isDiskFull(settings.workDirectory))) {
        throw new ServiceFailure("the disk of the work directory is full");
      }
      if (end.kind !== "exited") return end;
    } else if (directory !== null) {
      const pages = { directory, wanted, admit: this.#admitPages, threads: process.threads };
      return this.phases.time("archive", () => packArchive(settings, pages, output, this.#time));
    }
    const standards = this.#finishedPdf?.end() ?? null;
    const { exitCode } = end;
    const compilation = { exitCode, outputBytes: report.outputBytes, pageCount: null, standards };
    let verdict = judgeCompilation(compilation, wanted, settings.limits);
    if (verdict.kind === "unclear") {
      const found = await this.#findPage(verdict.page, process, output);
      if (found === null) return CLIENT_GONE;
      verdict = verdict.decide(found);
    }
    if (verdict.kind === "problem") {
      this.pdfCheck = verdict.broken[0]?.rule ?? null;
      return refuse(verdict.problem);
    }
    if (standards?.kind === "unread") this.pdfCheck = "unread";
    return { kind: "rendered", file: output, output: wanted };
  }

  /** Null if the client has left meanwhile. */
  async #findPage(page: number, { directory }: TypstProcess, output: Spool): Promise<FoundPage | null> {
    if (this.#command.output.format === "pdf") {
      for (const part of PLACEHOLDER_PARTS) if (!(await output.includes(part))) return "there";
    }
    const { settings, supervisor } = this.#resources;
    const argumentsOf = (paths: TypstPaths) => onePageArguments(settings, paths, this.#command, page);
    const task = { programText: this.#programText, over: this.#time.over };
    const { end, outputBytes } = await this.phases.time("probe", () =>
      supervisor.startIn(directory, argumentsOf).perform(task),
    );
    if (this.#clientGone.aborted) return null;
    return foundPage(end.kind === "exited" ? end.exitCode : null, outputBytes);
  }

  /** The answer does not wait for the removal. */
  end(): void {
    this.#time.end();
    const space = this.#space;
    const discarded = this.#process === null ? null : this.#resources.supervisor.discard(this.#process);
    // Nothing that waits for this may hold the body, whose memory is free from now on.
    void Promise.all([this.#lostRemoved, discarded]).then(() => space.release());
  }
}

/** A process that waited may have been killed for a reason that has nothing to do with the request. */
function wasLost({ end, ranOutOfMemory }: TypstReport): boolean {
  return end.kind === "signalled" && end.signal === "SIGKILL" && !ranOutOfMemory;
}
