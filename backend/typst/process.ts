/**
 * The life of one Typst process: start, feed, count, stop, and how it ended. `outcome.ts` decides what an end means.
 *
 * A process may be started before its request comes: it then waits for its program text, on standard input or at a
 * FIFO. Its output is counted as it arrives, of its diagnostics only the first bytes are kept, and stopping it kills
 * its whole process group.
 */
import type { Readable } from "node:stream";
import { ServiceFailure } from "../error-log.ts";
import { writeFifo } from "../launcher/fifo.ts";
import type { LaunchedProgram, Launcher } from "../launcher/launcher.ts";
import type { ProgramEnd } from "../launcher/program.ts";
import { endOfTypst, type Sandbox, type TypstCommand, type TypstExit } from "../sandbox/sandbox.ts";
import { listOutputFiles } from "../work-directory/output-files.ts";
import { PeakMemory } from "./peak-memory.ts";

/** Why the backend stopped a process. */
export type StopReason =
  | "render-timeout"
  | "client-gone"
  | "output-too-large"
  | "too-many-files"
  | "no-room"
  | "not-needed";

/** How a process ended. */
export type TypstEnd =
  | TypstExit
  | { readonly kind: "stopped"; readonly reason: StopReason }
  /** The program or its sandbox could not be started: Typst itself never ran. */
  | { readonly kind: "not-started"; readonly cause: Error }
  /** Its output could not be kept: the machine failed, not Typst. */
  | { readonly kind: "output-lost"; readonly cause: unknown };

export interface TypstResult {
  readonly end: TypstEnd;
  /** Whether all of its standard output was kept. */
  readonly outputTaken: AppendResult;
  /** Bytes of all outputs; over the limit if that is why it was stopped. */
  readonly outputBytes: number;
  /** Whether Typst reported that it ran out of memory. */
  readonly ranOutOfMemory: boolean;
  /** The highest resident memory read while it performed its task; null if it ended before the first reading. */
  readonly peakMemoryBytes: number | null;
}

/** The FIFO through which a process reads its program text, and the main text that includes it. */
export interface TextFifo {
  readonly path: string;
  readonly mainText: string;
}

/** What a process is to do with its request. */
export interface TypstTask {
  /** The program text, in chunks. */
  readonly input: readonly Buffer[];
  readonly timeoutMilliseconds: number;
  /** Aborted when the client goes away. */
  readonly signal: AbortSignal;
  /** Takes what the process writes to its standard output. */
  readonly output: OutputTaker;
  /** The directory to watch while the command writes files into it; null if it writes none. */
  readonly files: FilesWatch | null;
}

/** Whether a chunk of output was kept, and if not, why. */
export type AppendResult = "kept" | "too-large" | "no-room";

/** Takes an output chunk by chunk. Any result other than `kept` stops the process. */
export interface OutputTaker {
  append(chunk: Buffer): Promise<AppendResult>;
}

/** Counts an output without keeping it. */
export const DISCARD_OUTPUT: OutputTaker = { append: async () => "kept" };

export interface FilesWatch {
  readonly directory: string;
  readonly maxFiles: number;
  /** Whether there is disk space for this many bytes in the directory. */
  hasRoomFor(bytes: number): boolean;
}

/** How much standard output was read, and how it ended. */
interface WrittenOutput {
  readonly bytes: number;
  readonly taken: AppendResult;
  /** The error if the machine failed to keep a chunk; otherwise null. */
  readonly failure: unknown;
  /** Whether the connection broke before its end. */
  readonly isCutShort: boolean;
}

/** Rust's allocator writes this before it aborts (seen with 0.15.1). No other text of Typst is interpreted. */
const OUT_OF_MEMORY = /^memory allocation of \d+ bytes failed/m;
const OUTPUT_DIRECTORY_POLL_MILLISECONDS = 25;

export class TypstProcess {
  readonly #maxOutputBytes: number;
  readonly #sandbox: Sandbox;
  readonly #typstName: string;
  readonly #program: LaunchedProgram;
  readonly #result: Promise<TypstResult>;
  /** Resolves with null once the output is no longer wanted. */
  readonly #output = Promise.withResolvers<OutputTaker | null>();
  #peakMemory: PeakMemory | null = null;
  #stopReason: StopReason | null = null;
  #filesBytes = 0;
  #programEnd: ProgramEnd | null = null;
  readonly #textFifo: TextFifo | null;
  #isTextDelivered = false;

  /**
   * Starts Typst, which waits for its program text. Never throws: a failure to start becomes the result.
   *
   * @param sandbox the sandbox that made `command`.
   * @param textFifo null if it reads its program text from standard input.
   */
  constructor(
    launcher: Launcher,
    sandbox: Sandbox,
    command: TypstCommand,
    maxOutputBytes: number,
    textFifo: TextFifo | null = null,
  ) {
    this.#textFifo = textFifo;
    this.#maxOutputBytes = maxOutputBytes;
    this.#sandbox = sandbox;
    this.#typstName = command.typstName;
    this.#program = launcher.start(command);
    this.#result = this.#followToEnd();
  }

  get hasEnded(): boolean {
    return this.#programEnd !== null;
  }

  /** Resolves when it has ended, however that came. */
  get ended(): Promise<unknown> {
    return this.#result;
  }

  /**
   * Whether it has ended and certainly nothing of it is left. Its sandbox has waited for one that ended by itself. A
   * killed one counts as ended as soon as the first process of its sandbox has: the kernel may end the others a moment
   * later.
   */
  get isGone(): boolean {
    return this.#programEnd?.kind === "exited";
  }

  /** Feeds the process its task and waits for its end, or stops it at the task's limits. */
  async perform(task: TypstTask): Promise<TypstResult> {
    const onClientGone = () => this.stop("client-gone");
    task.signal.addEventListener("abort", onClientGone, { once: true });
    if (task.signal.aborted) onClientGone();
    const peakMemory = new PeakMemory(this.#program.ancestorPid, this.#typstName);
    this.#peakMemory = peakMemory;
    const timer = setTimeout(() => this.stop("render-timeout"), task.timeoutMilliseconds);
    const stopWatching = task.files === null ? () => {} : this.#watchFiles(task.files);
    this.#output.resolve(task.output);
    try {
      if (this.#textFifo === null) {
        this.#isTextDelivered = true;
        await this.#program.write(task.input);
      } else {
        this.#isTextDelivered = await writeFifo(this.#textFifo.path, task.input, this.#program);
      }
      return await this.#result;
    } finally {
      clearTimeout(timer);
      peakMemory.stop();
      stopWatching();
      task.signal.removeEventListener("abort", onClientGone);
    }
  }

  /** Kills the whole process group. The first reason stays. */
  stop(reason: StopReason): void {
    this.#stopReason ??= reason;
    this.#output.resolve(null);
    this.#program.kill();
  }

  /** Kills a process that is no longer needed, and waits for its end. */
  async discard(): Promise<void> {
    this.stop("not-needed");
    await this.#result;
  }

  async #followToEnd(): Promise<TypstResult> {
    if (this.#textFifo !== null) void this.#program.write([Buffer.from(this.#textFifo.mainText)]);
    const written = await this.#passOutputOn(await this.#program.output);
    const end = await this.#program.end;
    this.#programEnd = end;
    return {
      end: this.#endOf(end, written),
      outputTaken: written.taken,
      outputBytes: Math.max(written.bytes, this.#filesBytes),
      ranOutOfMemory: end.kind !== "failed" && OUT_OF_MEMORY.test(end.diagnostics),
      peakMemoryBytes: this.#peakMemory?.bytes ?? null,
    };
  }

  #endOf(end: ProgramEnd, { bytes, failure, isCutShort }: WrittenOutput): TypstEnd {
    if (failure !== null) return { kind: "output-lost", cause: failure };
    const sandboxed = endOfTypst(end, this.#sandbox);
    if (sandboxed.kind !== "sandbox-failed" && this.#stopReason === null && !this.#isTextDelivered) {
      // The program text cannot have been the reason.
      return { kind: "not-started", cause: new ServiceFailure("Typst ended before it had its program text") };
    }
    if (sandboxed.kind === "exited") {
      // A success counts only with its complete output: when a connection breaks, the last bytes may be lost. An exit
      // just before the process was stopped counts, too.
      if (!isCutShort || bytes === 0 || sandboxed.exitCode !== 0) return sandboxed;
      const cause = new ServiceFailure("the connection of a process broke before its output was complete");
      return { kind: "output-lost", cause };
    }
    // A program that never ran has not used up its time: its failure to start is the cause.
    const timedOutBeforeStart = this.#stopReason === "render-timeout" && end.kind === "failed";
    if (this.#stopReason !== null && !timedOutBeforeStart) return { kind: "stopped", reason: this.#stopReason };
    if (sandboxed.kind === "signalled") return sandboxed;
    return { kind: "not-started", cause: new ServiceFailure(`the sandbox failed: ${sandboxed.reason}`) };
  }

  /** Counts standard output and passes it on until a chunk is not kept. */
  async #passOutputOn(stream: Readable | null): Promise<WrittenOutput> {
    let bytes = 0;
    let taken: AppendResult = "kept";
    let failure: unknown = null;
    let isCutShort = false;
    try {
      for await (const chunk of stream?.iterator({ destroyOnReturn: false }) ?? []) {
        if (bytes === 0) this.#peakMemory?.look();
        bytes += chunk.length;
        const output = await this.#output.promise;
        try {
          taken = (await output?.append(chunk)) ?? "kept";
        } catch (error) {
          failure = error;
        }
        if (taken === "kept" && failure === null) continue;
        this.stop(taken === "too-large" ? "output-too-large" : "no-room");
        break;
      }
    } catch {
      // Killing the process breaks the connection, too. Its exit says how it ended.
      isCutShort = true;
    }
    // The rest is read to its end and dropped: only then is no process of the render left.
    stream?.resume();
    return { bytes, taken, failure, isCutShort };
  }

  /**
   * Counts and measures the files in a directory at intervals, so that output on disk is limited while Typst writes it.
   */
  #watchFiles({ directory, maxFiles, hasRoomFor }: FilesWatch): () => void {
    let isWatching = true;
    const poll = async (): Promise<void> => {
      const { areMore, bytes } = await listOutputFiles(directory, maxFiles).catch(() => ({
        areMore: false,
        bytes: this.#filesBytes,
      }));
      // The last count may finish after the watch was stopped: it must not stop the process.
      if (!isWatching) return;
      this.#filesBytes = bytes;
      if (areMore) this.stop("too-many-files");
      else if (this.#filesBytes > this.#maxOutputBytes) this.stop("output-too-large");
      else if (!hasRoomFor(this.#filesBytes)) this.stop("no-room");
      else timer = setTimeout(() => void poll(), OUTPUT_DIRECTORY_POLL_MILLISECONDS);
    };
    let timer = setTimeout(() => void poll(), OUTPUT_DIRECTORY_POLL_MILLISECONDS);
    return () => {
      isWatching = false;
      clearTimeout(timer);
    };
  }
}
