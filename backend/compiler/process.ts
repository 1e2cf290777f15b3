/** One Typst process: start, feed, count, measure, stop. `render/outcome.ts` decides what its end means. */
import type { Readable } from "node:stream";
import { ServiceFailure } from "../error-log.ts";
import type { LaunchedProgram, Launcher } from "../launcher/launcher.ts";
import { type ProgramEnd, quoteComplaint, writeFifo } from "../launcher/program.ts";
import { listPids, readProc } from "../processes/proc.ts";
import type { Sandbox, TypstCommand } from "../sandbox/sandbox.ts";
import { listOutputFiles } from "../work-directory/directory-tree.ts";
import type { RenderDirectory } from "../work-directory/render-directory.ts";

/** Why an output is not kept. */
export type Refusal = "too-large" | "no-room";
export type AppendResult = "kept" | Refusal;

/** "over": the time of its task is used up, its client has gone, or nobody needs it. */
export type StopReason = Refusal | "over" | "processor-time" | "too-many-files";

export type TypstEnd =
  | { readonly kind: "exited"; readonly exitCode: number }
  | { readonly kind: "signalled"; readonly signal: string }
  | { readonly kind: "stopped"; readonly reason: StopReason }
  /** Nothing was compiled: the program or its sandbox did not start, or it ended before it had its program text. */
  | { readonly kind: "not-begun"; readonly error: Error }
  | { readonly kind: "output-lost"; readonly error: unknown };

/** The one answer to a task. */
export interface TypstReport {
  readonly end: TypstEnd;
  /** Bytes of all outputs, as Typst wrote them. */
  readonly outputBytes: number;
  readonly ranOutOfMemory: boolean;
  /** The highest resident memory read while it performed its task; null if it ended before the first reading. */
  readonly peakMemoryBytes: number | null;
}

interface TextFifo {
  readonly path: string;
  readonly mainText: string;
}

export interface TypstTask {
  readonly programText: readonly Buffer[];
  /** Stops the process. */
  readonly over: AbortSignal;
  /** For standard output. Without one, that is dropped. */
  readonly sink?: OutputSink;
  /** For the files in the output directory, while there are more and more of them. */
  readonly pages?: PageLimits | null;
}

/** Signals of our own limits on processor time and on the size of files. No other signal is about a limit. */
const REASONS_OF_SIGNALS: Readonly<Record<string, StopReason>> = {
  SIGXCPU: "processor-time",
  SIGXFSZ: "too-large",
};

/** Accepts an output chunk by chunk. A refusal stops the process, or makes a success one that was stopped. */
export interface OutputSink {
  append(chunk: Buffer): Promise<AppendResult>;
  /** After a success. */
  end(): Promise<AppendResult>;
}

export interface PageLimits {
  readonly maxFiles: number;
  /** Whether all pages together may have so many bytes. */
  admit(bytes: number): AppendResult;
}

interface ReadOutput {
  readonly bytes: number;
  readonly accepted: AppendResult;
  readonly failure: unknown;
  readonly isCutShort: boolean;
}

export interface ProcessOptions {
  readonly launcher: Launcher;
  readonly sandbox: Sandbox;
  readonly command: TypstCommand;
  readonly directory: RenderDirectory;
  readonly threads?: number;
  /** Null if it reads its program text from standard input. */
  readonly textFifo?: TextFifo | null;
  /** The processor time of each of several threads: the kernel limits only their sum. */
  readonly maxThreadSeconds?: number;
}

/** Rust's allocator writes this before it aborts (seen with 0.15.1). No other text of Typst is interpreted. */
const OUT_OF_MEMORY = /^memory allocation of \d+ bytes failed/m;
const OUTPUT_DIRECTORY_POLL_MILLISECONDS = 25;
const FIRST_MEMORY_MILLISECONDS = 50;
/** The last reading of a longer render is at most a quarter of its time old. */
const MEMORY_PART_OF_TIME = 1 / 4;
const THREAD_TIME_INTERVAL_MILLISECONDS = 250;
/** More than the programs between the shell that starts it and Typst in any sandbox. */
const MAX_LAUNCH_DEPTH = 8;
/** The kernel truncates the names of processes to this length. */
const MAX_NAME_LENGTH = 15;

export class TypstProcess {
  readonly directory: RenderDirectory;
  readonly threads: number;
  readonly #options: ProcessOptions;
  readonly #program: LaunchedProgram;
  readonly #report: Promise<TypstReport>;
  /** Resolves with null once the output is no longer wanted. Null after the end: who takes it may hold the request. */
  #sink: PromiseWithResolvers<OutputSink | null> | null = Promise.withResolvers();
  #readings: Readings | null = null;
  #stopReason: StopReason | null = null;
  #filesBytes = 0;
  #programEnd: ProgramEnd | null = null;
  #isTextDelivered = false;

  /** Typst waits for its program text. Never throws: a failure to start becomes its end. */
  constructor(options: ProcessOptions) {
    this.#options = options;
    this.directory = options.directory;
    this.threads = options.threads ?? 1;
    this.directory.addUser(this);
    this.#program = options.launcher.start(options.command);
    this.#report = this.#followToEnd();
  }

  get hasEnded(): boolean {
    return this.#programEnd !== null;
  }

  get ended(): Promise<unknown> {
    return this.#report;
  }

  /** Whether certainly nothing is left: of a killed one, the kernel may end inner processes a moment later. */
  get isGone(): boolean {
    return this.#programEnd?.kind === "exited";
  }

  async perform(task: TypstTask): Promise<TypstReport> {
    const { command, textFifo = null } = this.#options;
    const { programText, over, sink = null, pages = null } = task;
    const stop = () => this.stop("over");
    over.addEventListener("abort", stop, { once: true });
    if (over.aborted) stop();
    const readings = new Readings(this.#program.ancestorPid, command.typstName);
    this.#readings = readings;
    const stopWatching = pages === null ? () => {} : this.#watchPages(pages);
    const stopThreadWatch = this.#watchThreads(readings);
    this.#sink?.resolve(sink);
    try {
      if (textFifo === null) {
        this.#isTextDelivered = true;
        await this.#program.write(programText);
      } else {
        // The FIFO is there once the program has started.
        await this.#program.ancestorPid;
        this.#isTextDelivered = await writeFifo(textFifo.path, programText, this.#program);
      }
      const report = await this.#report;
      if (report.end.kind !== "exited" || report.end.exitCode !== 0) return report;
      const accepted = (await sink?.end()) ?? "kept";
      return accepted === "kept" ? report : { ...report, end: { kind: "stopped", reason: accepted } };
    } finally {
      readings.stop();
      stopWatching();
      stopThreadWatch();
      over.removeEventListener("abort", stop);
    }
  }

  /** The first reason stays. */
  stop(reason: StopReason): void {
    this.#stopReason ??= reason;
    this.#sink?.resolve(null);
    this.#program.kill();
  }

  async discard(): Promise<void> {
    this.stop("over");
    await this.#report;
  }

  async #followToEnd(): Promise<TypstReport> {
    const { textFifo = null } = this.#options;
    if (textFifo !== null) void this.#program.write([Buffer.from(textFifo.mainText)]);
    const read = await this.#passOutputOn(await this.#program.output);
    this.#sink = null;
    const end = await this.#program.end;
    this.#programEnd = end;
    return {
      end: this.#interpretEnd(end, read),
      outputBytes: Math.max(read.bytes, this.#filesBytes),
      ranOutOfMemory: ranOutOfMemory(end),
      peakMemoryBytes: this.#readings?.peakMemoryBytes ?? null,
    };
  }

  #interpretEnd(programEnd: ProgramEnd, { bytes, accepted, failure, isCutShort }: ReadOutput): TypstEnd {
    if (failure !== null) return { kind: "output-lost", error: failure };
    if (accepted !== "kept") return { kind: "stopped", reason: accepted };
    const end = exposeLaunchFailure(programEnd, this.#options.sandbox);
    if (end.kind !== "failed" && this.#stopReason === null && !this.#isTextDelivered) {
      // The template is not to blame for such an end.
      return { kind: "not-begun", error: new ServiceFailure("Typst ended before it had its program text") };
    }
    if (end.kind === "exited") {
      // With its complete output, a success counts even if the process was about to be stopped.
      if (!isCutShort || bytes === 0 || end.exitCode !== 0) return { kind: "exited", exitCode: end.exitCode };
      const error = new ServiceFailure("the connection of a process broke before its output was complete");
      return { kind: "output-lost", error };
    }
    // A program that never ran has not used up its time: its failure to start is the cause.
    const isOverBeforeStart = this.#stopReason === "over" && programEnd.kind === "failed";
    if (this.#stopReason !== null && !isOverBeforeStart) return { kind: "stopped", reason: this.#stopReason };
    if (end.kind === "signalled") {
      const reason = ranOutOfMemory(end) ? undefined : REASONS_OF_SIGNALS[end.signal];
      return reason === undefined ? { kind: "signalled", signal: end.signal } : { kind: "stopped", reason };
    }
    const error = new ServiceFailure(`the sandbox failed: ${end.reason}`);
    const hasBegun = end.hasStarted && this.#isTextDelivered;
    return { kind: hasBegun ? "output-lost" : "not-begun", error };
  }

  async #passOutputOn(stream: Readable | null): Promise<ReadOutput> {
    let bytes = 0;
    let accepted: AppendResult = "kept";
    let failure: unknown = null;
    let isCutShort = false;
    try {
      for await (const chunk of stream?.iterator({ destroyOnReturn: false }) ?? []) {
        if (bytes === 0) this.#readings?.readMemory();
        bytes += chunk.length;
        const sink = await this.#sink?.promise;
        try {
          accepted = (await sink?.append(chunk)) ?? "kept";
        } catch (error) {
          failure = error;
        }
        if (accepted === "kept" && failure === null) continue;
        this.stop(accepted === "kept" ? "no-room" : accepted);
        break;
      }
    } catch {
      // Killing the process breaks the connection, too. Its exit says how it ended.
      isCutShort = true;
    }
    // The rest is read to its end and dropped: only then is no process of the render left.
    stream?.resume();
    return { bytes, accepted, failure, isCutShort };
  }

  /** @returns a function that ends the watch, which begins when a thread may have used up its time */
  #watchThreads(readings: Readings): () => void {
    const { maxThreadSeconds } = this.#options;
    if (maxThreadSeconds === undefined) return () => {};
    const look = () => {
      if (readings.longestThreadSeconds() > maxThreadSeconds) this.stop("processor-time");
      else timer = setTimeout(look, THREAD_TIME_INTERVAL_MILLISECONDS);
    };
    let timer = setTimeout(look, maxThreadSeconds * 1000);
    return () => clearTimeout(timer);
  }

  /** @returns a function that ends the watch */
  #watchPages({ maxFiles, admit }: PageLimits): () => void {
    const { outputDirectory } = this.directory;
    if (outputDirectory === null) return () => {};
    let isWatching = true;
    let before: ReadonlyMap<string, number> = new Map();
    /** Typst opens no page again. Without this, a document of many pages would be looked at with the square of them. */
    const finished = new Map<string, number>();
    const poll = async (): Promise<void> => {
      const found = await listOutputFiles(outputDirectory, maxFiles, finished).catch(() => null);
      for (const [name, size] of found?.sizes ?? []) {
        if (size > 0 && before.get(name) === size) finished.set(name, size);
      }
      before = found?.sizes ?? before;
      // The last count may finish after the watch was stopped: it must not stop the process.
      if (!isWatching) return;
      this.#filesBytes = found?.bytes ?? this.#filesBytes;
      const accepted = admit(this.#filesBytes);
      if (found?.areMore) this.stop("too-many-files");
      else if (accepted !== "kept") this.stop(accepted);
      else timer = setTimeout(() => void poll(), OUTPUT_DIRECTORY_POLL_MILLISECONDS);
    };
    let timer = setTimeout(() => void poll(), OUTPUT_DIRECTORY_POLL_MILLISECONDS);
    return () => {
      isWatching = false;
      clearTimeout(timer);
    };
  }
}

function ranOutOfMemory(end: ProgramEnd): boolean {
  return end.kind !== "failed" && OUT_OF_MEMORY.test(end.diagnostics);
}

/** With these, launchers and the loader exit if they cannot run a program. Typst exits with 0, 1 or 2. */
const LAUNCH_FAILURE_EXIT_CODES: readonly number[] = [126, 127];

/** The complaint of a shell that cannot run a program, or of the loader. */
const LAUNCH_COMPLAINT = /^(?:\S*sh: |\S+: error while loading shared libraries: )/;

/** Launchers become Typst, or exit with its code. If one of them has failed, Typst never ran. */
export function exposeLaunchFailure(end: ProgramEnd, { launchers }: Pick<Sandbox, "launchers">): ProgramEnd {
  if (end.kind !== "exited") return end;
  const hasComplained = launchers.some((name) => end.diagnostics.startsWith(`${name}: `));
  if (!hasComplained && !LAUNCH_FAILURE_EXIT_CODES.includes(end.exitCode)) return end;
  // What Typst itself writes is never logged.
  const complaint = hasComplained || LAUNCH_COMPLAINT.test(end.diagnostics) ? quoteComplaint(end.diagnostics) : "";
  return { kind: "failed", reason: `exit code ${end.exitCode}${complaint}`, hasStarted: false };
}

/**
 * What /proc says of Typst. The kernel reports the peak memory only to the parent of a process, and bubblewrap does not pass it
 * on. So it is read at the first byte of the output, when most of the work is done, and from time to time before.
 */
class Readings {
  readonly #name: string;
  /** The process id of the started program; of Typst itself, once it is known. */
  #pid: number | null = null;
  #bytes: number | null = null;
  readonly #started = performance.now();
  #timer: NodeJS.Timeout;

  /** @param typstName the kernel's name for the process: the memory of launchers is not counted */
  constructor(pid: Promise<number | null>, typstName: string) {
    this.#name = typstName.slice(0, MAX_NAME_LENGTH);
    this.#timer = this.#readLater(FIRST_MEMORY_MILLISECONDS);
    void pid.then((known) => {
      this.#pid = known;
    });
  }

  /** The kernel keeps the highest value, so the pauses may grow. */
  #readLater(milliseconds: number): NodeJS.Timeout {
    return setTimeout(() => {
      this.readMemory();
      this.#timer = this.#readLater((performance.now() - this.#started) * MEMORY_PART_OF_TIME);
    }, milliseconds);
  }

  /** Null if none could be read: in very short renders, and on systems without /proc. */
  get peakMemoryBytes(): number | null {
    return this.#bytes;
  }

  readMemory(): void {
    const kibibytes = /^VmHWM:\s+(\d+) kB$/m.exec(this.#readStatus())?.[1];
    if (kibibytes !== undefined) this.#bytes = Number(kibibytes) * 1024;
  }

  /** The most processor time of one of its threads that run; 0 if none could be read. */
  longestThreadSeconds(): number {
    if (this.#readStatus() === "") return 0;
    const tasks = `${this.#pid}/task`;
    const nanoseconds = listPids(tasks).map((thread) => Number.parseInt(readProc(`${tasks}/${thread}/schedstat`), 10));
    return Math.max(0, ...nanoseconds.filter(Number.isFinite)) / 1e9;
  }

  /** Of Typst; empty as long as its launchers run. */
  #readStatus(): string {
    if (this.#pid === null) return "";
    const pid = lastDescendant(this.#pid);
    const status = readProc(`${pid}/status`);
    if (/^Name:\t(.*)$/m.exec(status)?.[1] !== this.#name) return "";
    this.#pid = pid;
    return status;
  }

  stop(): void {
    clearTimeout(this.#timer);
  }
}

/** The last process in the chain of first children: the sandbox's programs have one child each, and Typst has none. */
function lastDescendant(pid: number): number {
  let last = pid;
  for (let depth = 0; depth < MAX_LAUNCH_DEPTH; depth++) {
    const child = /^\d+/.exec(readProc(`${last}/task/${last}/children`))?.[0];
    if (child === undefined) break;
    last = Number(child);
  }
  return last;
}
