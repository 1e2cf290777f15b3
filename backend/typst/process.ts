/**
 * The life of one Typst process: start, feed, count, stop, and how it ended. `outcome.ts` decides what an end means.
 *
 * A process may be started before its request comes; it waits for the program text on its standard input. Its output is
 * counted as it arrives, its diagnostics are drained and dropped after the first bytes, and stopping it kills its whole
 * process group.
 */

import { readdir, stat } from "node:fs/promises";
import { join } from "node:path";
import type { Duplex } from "node:stream";
import { ServiceFailure } from "../error-log.ts";
import type { Sandbox, TypstCommand, TypstExit } from "../sandbox/sandbox.ts";
import type { ProgramEnd } from "../spawner/messages.ts";
import type { SpawnedProgram, Spawner } from "../spawner/spawner.ts";
import { PeakMemory } from "./peak-memory.ts";

/** Why the backend stopped a process. */
export type StopReason = "render-timeout" | "client-gone" | "output-too-large" | "no-room" | "not-needed";

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
  /** Whether its standard output was taken to the end. */
  readonly outputTaken: AppendResult;
  /** Bytes counted in all outputs; over the limit where that stopped it. */
  readonly outputBytes: number;
  /** Whether Typst said that memory ran out. */
  readonly ranOutOfMemory: boolean;
  /** The peak resident memory seen while it performed its task; null where none was seen. */
  readonly peakMemoryBytes: number | null;
}

/** What a process is to do with its request. */
export interface TypstTask {
  /** The program text, in pieces. */
  readonly input: readonly Buffer[];
  readonly timeoutMilliseconds: number;
  /** Aborted when the client goes away. */
  readonly signal: AbortSignal;
  /** Takes what the process writes to its standard output. */
  readonly output: OutputTaker;
  /** Where the command writes files: the directory to watch, and who is told of the bytes in it. Null where it writes none. */
  readonly files: FilesWatch | null;
}

/** What became of a piece of output. */
export type AppendResult = "kept" | "too-large" | "no-room";

/** Takes an output piece by piece. Any answer other than `kept` stops the process. */
export interface OutputTaker {
  append(piece: Buffer): Promise<AppendResult>;
}

/** For an output that is only counted. */
export const DISCARD_OUTPUT: OutputTaker = { append: async () => "kept" };

export interface FilesWatch {
  readonly directory: string;
  /** Whether there is room for so many bytes in the directory. */
  hasRoomFor(bytes: number): boolean;
}

/** What became of a process's standard output. */
interface WrittenOutput {
  readonly bytes: number;
  readonly taken: AppendResult;
  /** Why a piece could not be kept, where the machine failed; otherwise null. */
  readonly failure: unknown;
  /** Whether the connection broke before its end. */
  readonly isCutShort: boolean;
}

/** Rust's allocator says this before it aborts (measured on 0.15.1); it is the only text of Typst's that is looked at. */
const OUT_OF_MEMORY = /^memory allocation of \d+ bytes failed/m;
const OUTPUT_DIRECTORY_POLL_MILLISECONDS = 25;

export class TypstProcess {
  readonly #maxOutputBytes: number;
  readonly #sandbox: Sandbox;
  readonly #typstName: string;
  readonly #spawned: SpawnedProgram;
  readonly #result: Promise<TypstResult>;
  /** Resolves with null once the output is no longer wanted. */
  readonly #output = Promise.withResolvers<OutputTaker | null>();
  #peakMemory: PeakMemory | null = null;
  #stopReason: StopReason | null = null;
  #filesBytes = 0;
  #hasEnded = false;

  /**
   * Starts Typst, which waits until it is fed. Never throws: a program that fails to start has a result as well.
   *
   * @param sandbox the one that has made the command.
   */
  constructor(spawner: Spawner, sandbox: Sandbox, command: TypstCommand, maxOutputBytes: number) {
    this.#maxOutputBytes = maxOutputBytes;
    this.#sandbox = sandbox;
    this.#typstName = command.typstName;
    this.#spawned = spawner.start(command);
    this.#result = this.#followToEnd();
  }

  /** Whether it has ended already. */
  get hasEnded(): boolean {
    return this.#hasEnded;
  }

  /** Feeds the process its task and waits for its end, or stops it at the task's limits. */
  async perform(task: TypstTask): Promise<TypstResult> {
    const onClientGone = () => this.stop("client-gone");
    task.signal.addEventListener("abort", onClientGone, { once: true });
    if (task.signal.aborted) onClientGone();
    const peakMemory = new PeakMemory(this.#spawned.pid, this.#typstName);
    this.#peakMemory = peakMemory;
    const timer = setTimeout(() => this.stop("render-timeout"), task.timeoutMilliseconds);
    const stopWatching = task.files === null ? () => {} : this.#watchFiles(task.files);
    this.#output.resolve(task.output);
    try {
      const stream = await this.#spawned.stream;
      // Not waited for: a process that has ended takes nothing, and its end is what counts.
      for (const piece of task.input) stream?.write(piece);
      stream?.end();
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
    this.#spawned.kill();
  }

  /** Kills a process that no request will come for, and waits until it is gone. */
  async discard(): Promise<void> {
    this.stop("not-needed");
    await this.#result;
  }

  async #followToEnd(): Promise<TypstResult> {
    const stream = await this.#spawned.stream;
    const written = await this.#passOutputOn(stream);
    const end = await this.#spawned.end;
    this.#hasEnded = true;
    return {
      end: this.#endWithOutput(end, written),
      outputTaken: written.taken,
      outputBytes: Math.max(written.bytes, this.#filesBytes),
      ranOutOfMemory: end.kind !== "failed" && OUT_OF_MEMORY.test(end.diagnostics),
      peakMemoryBytes: this.#peakMemory?.bytes ?? null,
    };
  }

  /** A success counts only with its whole output: when a connection breaks, the end of the output may be lost. */
  #endWithOutput(end: ProgramEnd, { bytes, failure, isCutShort }: WrittenOutput): TypstEnd {
    if (failure !== null) return { kind: "output-lost", cause: failure };
    const typstEnd = this.#interpretEnd(end);
    if (!isCutShort || bytes === 0 || typstEnd.kind !== "exited" || typstEnd.exitCode !== 0) return typstEnd;
    return {
      kind: "output-lost",
      cause: new ServiceFailure("the connection of a process broke before its output was whole"),
    };
  }

  #interpretEnd(end: ProgramEnd): TypstEnd {
    const sandboxed = this.#sandbox.interpretEnd(end);
    // A process that ended by itself just before it was to be stopped still ended by itself.
    if (sandboxed.kind === "exited") return sandboxed;
    // A process that never ran has not used up its time, even where it was stopped for that.
    const hasTimedOut = this.#stopReason === "render-timeout" && end.kind === "failed";
    if (this.#stopReason !== null && !hasTimedOut) return { kind: "stopped", reason: this.#stopReason };
    if (sandboxed.kind === "signalled") return sandboxed;
    return { kind: "not-started", cause: new ServiceFailure(`the sandbox failed: ${sandboxed.reason}`) };
  }

  /** Passes standard output on for as long as it is taken, and counts it. */
  async #passOutputOn(stream: Duplex | null): Promise<WrittenOutput> {
    let bytes = 0;
    let taken: AppendResult = "kept";
    let failure: unknown = null;
    let isCutShort = false;
    try {
      for await (const piece of stream ?? []) {
        if (bytes === 0) this.#peakMemory?.look();
        bytes += piece.length;
        const output = await this.#output.promise;
        try {
          taken = (await output?.append(piece)) ?? "kept";
        } catch (error) {
          failure = error;
        }
        if (taken === "kept" && failure === null) continue;
        this.stop(taken === "too-large" ? "output-too-large" : "no-room");
        // No more is read: leaving the loop closes the connection.
        break;
      }
    } catch {
      // A killed process breaks its connection, too. Its exit says how it ended.
      isCutShort = true;
    }
    return { bytes, taken, failure, isCutShort };
  }

  /** Sums up the files of a directory again and again, so that output on disk is bounded while it is made. */
  #watchFiles({ directory, hasRoomFor }: FilesWatch): () => void {
    let isWatching = true;
    const poll = async (): Promise<void> => {
      const bytes = await directoryBytes(directory).catch(() => this.#filesBytes);
      // Once the watch is stopped, its last count must not stop the process.
      if (!isWatching) return;
      this.#filesBytes = bytes;
      if (this.#filesBytes > this.#maxOutputBytes) this.stop("output-too-large");
      else if (!hasRoomFor(this.#filesBytes)) this.stop("no-room");
      else timer = setTimeout(poll, OUTPUT_DIRECTORY_POLL_MILLISECONDS);
    };
    let timer = setTimeout(poll, OUTPUT_DIRECTORY_POLL_MILLISECONDS);
    return () => {
      isWatching = false;
      clearTimeout(timer);
    };
  }
}

/** The bytes of all files in a directory without subdirectories. */
export async function directoryBytes(directory: string): Promise<number> {
  const names = await readdir(directory);
  const sizes = await Promise.all(names.map(async (name) => (await stat(join(directory, name))).size));
  return sizes.reduce((sum, size) => sum + size, 0);
}
