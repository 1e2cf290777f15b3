/**
 * The life of one Typst process: start, feed, count, stop, and how it ended. It judges nothing (`outcome.ts` does).
 *
 * A process may be started before its request comes; it waits for the program text on its standard input. Its output is
 * counted while it comes, its diagnostics are drained and forgotten but for the first bytes, and whatever stops it kills
 * its whole process group.
 */
import { readdir, stat } from "node:fs/promises";
import { constants } from "node:os";
import { join } from "node:path";
import type { Duplex } from "node:stream";
import { PeakMemory } from "./peak-memory.ts";
import type { Launch } from "./sandbox/sandbox.ts";
import type { ProgramEnd } from "./spawner/messages.ts";
import type { SpawnedProgram, Spawner } from "./spawner/spawner.ts";

/** Why a process was stopped by us. */
export type StopReason = "render-timeout" | "client-gone" | "output-too-large" | "not-needed";

/** How a process ended. */
export type TypstEnd =
  | { readonly kind: "exited"; readonly exitCode: number }
  | { readonly kind: "signalled"; readonly signal: string }
  | { readonly kind: "stopped"; readonly reason: StopReason }
  /** The program or its sandbox could not be started: Typst itself never ran. */
  | { readonly kind: "not-started"; readonly cause: Error };

export interface TypstResult {
  readonly end: TypstEnd;
  /** What it wrote to its standard output, at most the limit. */
  readonly output: Buffer;
  /** Bytes counted in all outputs: over the limit when that stopped it. */
  readonly outputBytes: number;
  /** Whether Typst said that memory ran out. */
  readonly ranOutOfMemory: boolean;
  /** The most resident memory seen while it performed its task; null where none was. */
  readonly peakMemoryBytes: number | null;
}

/** What a process is to do with its request. */
export interface TypstTask {
  /** The program text, in pieces. */
  readonly input: readonly Buffer[];
  readonly timeoutMilliseconds: number;
  /** Aborted when the client goes away. */
  readonly signal: AbortSignal;
  /** The directory to watch where the command writes files, or null. */
  readonly outputDirectory: string | null;
}

/** Rust's allocator says this before it aborts (measured on 0.15.1); it is the only text of Typst's that is looked at. */
const OUT_OF_MEMORY = /^memory allocation of \d+ bytes failed/m;
const OUTPUT_DIRECTORY_POLL_MILLISECONDS = 25;
/** What ends a launch before Typst runs, by the name with which it begins its complaint. Typst begins otherwise. */
const LAUNCH_COMPLAINT = /^(?:bwrap|setpriv|prlimit): /;
/** The exit codes of launchers and of the dynamic loader for a program that cannot be run. Typst exits with 0, 1 or 2. */
const LAUNCH_FAILURE_EXIT_CODES: readonly number[] = [126, 127];
/** What a shell and bubblewrap add to the number of the signal that ended their child. */
const SIGNAL_EXIT_CODE_BASE = 128;

const SIGNAL_NAMES = new Map(Object.entries(constants.signals).map(([name, number]) => [number, name]));

export class TypstProcess {
  readonly #maxOutputBytes: number;
  readonly #launch: Launch;
  readonly #spawned: SpawnedProgram;
  readonly #result: Promise<TypstResult>;
  #peakMemory: PeakMemory | null = null;
  #stopReason: StopReason | null = null;
  #filesBytes = 0;
  #hasEnded = false;

  /** Starts Typst. It waits until it is fed. Never throws for what the program does; the result says it all. */
  constructor(spawner: Spawner, launch: Launch, maxOutputBytes: number) {
    this.#maxOutputBytes = maxOutputBytes;
    this.#launch = launch;
    this.#spawned = spawner.start(launch);
    this.#result = this.#followToEnd();
  }

  /** How it ended. Never rejects. */
  get end(): Promise<TypstEnd> {
    return this.#result.then(({ end }) => end);
  }

  /** Whether it has ended already: before its request came, if it is asked then. */
  get hasEnded(): boolean {
    return this.#hasEnded;
  }

  /** Feeds the process its task and waits for its end, or stops it for a reason of the task's. */
  async perform(task: TypstTask): Promise<TypstResult> {
    const onClientGone = () => this.stop("client-gone");
    task.signal.addEventListener("abort", onClientGone, { once: true });
    if (task.signal.aborted) onClientGone();
    const peakMemory = new PeakMemory(this.#spawned.pid, this.#launch.typstName);
    this.#peakMemory = peakMemory;
    const timer = setTimeout(() => this.stop("render-timeout"), task.timeoutMilliseconds);
    const stopWatching = task.outputDirectory === null ? () => {} : this.#watchFiles(task.outputDirectory);
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
    this.#spawned.kill();
  }

  /** Kills a process that no request will come for, and waits until it is gone. */
  async discard(): Promise<void> {
    this.stop("not-needed");
    await this.#result;
  }

  async #followToEnd(): Promise<TypstResult> {
    const stream = await this.#spawned.stream;
    const output = await this.#collectOutput(stream);
    const end = await this.#spawned.end;
    this.#hasEnded = true;
    return {
      end: this.#judgeEnd(end),
      output: Buffer.concat(output.chunks),
      outputBytes: Math.max(output.size, this.#filesBytes),
      ranOutOfMemory: end.kind !== "failed" && OUT_OF_MEMORY.test(end.diagnostics),
      peakMemoryBytes: this.#peakMemory?.bytes ?? null,
    };
  }

  #judgeEnd(end: ProgramEnd): TypstEnd {
    const typstEnd = hasFailedToLaunch(end) ? null : endOfTypst(end, this.#launch);
    // A process that ended by itself just before it was to be stopped still ended by itself.
    if (typstEnd?.kind === "exited") return typstEnd;
    // A process that never ran has not run into its time-out, whoever was stopped for it.
    const hasRunOut = this.#stopReason === "render-timeout" && end.kind === "failed";
    if (this.#stopReason !== null && !hasRunOut) return { kind: "stopped", reason: this.#stopReason };
    return typstEnd ?? { kind: "not-started", cause: new Error(`the sandbox failed: ${describe(end)}`) };
  }

  /** Gathers standard output up to the limit; over it, nothing is kept and the process is stopped. */
  async #collectOutput(stream: Duplex | null): Promise<{ chunks: Buffer[]; size: number }> {
    const chunks: Buffer[] = [];
    let size = 0;
    try {
      for await (const chunk of stream ?? []) {
        if (size === 0) this.#peakMemory?.look();
        size += chunk.length;
        if (size > this.#maxOutputBytes) {
          this.stop("output-too-large");
          // No more is read: leaving the loop closes the connection.
          return { chunks: [], size };
        }
        chunks.push(chunk);
      }
    } catch {
      // A killed process may break its connection; how it ended is told by its exit, not by that.
    }
    return { chunks, size };
  }

  /** Sums up the files of a directory again and again, so that output on disk is bounded while it is made. */
  #watchFiles(directory: string): () => void {
    let isWatching = true;
    const poll = async (): Promise<void> => {
      this.#filesBytes = await directoryBytes(directory).catch(() => this.#filesBytes);
      if (this.#filesBytes > this.#maxOutputBytes) this.stop("output-too-large");
      else if (isWatching) timer = setTimeout(poll, OUTPUT_DIRECTORY_POLL_MILLISECONDS);
    };
    let timer = setTimeout(poll, OUTPUT_DIRECTORY_POLL_MILLISECONDS);
    return () => {
      isWatching = false;
      clearTimeout(timer);
    };
  }
}

/** Whether Typst never ran, by what its launcher said or by its exit code. */
function hasFailedToLaunch(end: ProgramEnd): boolean {
  if (end.kind !== "exited") return end.kind === "failed";
  return LAUNCH_FAILURE_EXIT_CODES.includes(end.exitCode) || LAUNCH_COMPLAINT.test(end.diagnostics);
}

/** How Typst itself ended; null where bubblewrap, which reports it, was ended first. */
function endOfTypst(end: ProgramEnd, { statusReport }: Launch): TypstEnd | null {
  if (end.kind === "failed") return null;
  if (statusReport === "direct") {
    return end.kind === "exited"
      ? { kind: "exited", exitCode: end.exitCode }
      : { kind: "signalled", signal: end.signal };
  }
  const reported = end.kind === "exited" ? /"exit-code": (\d+)/.exec(end.status)?.[1] : undefined;
  if (reported === undefined) return null;
  const signal = SIGNAL_NAMES.get(Number(reported) - SIGNAL_EXIT_CODE_BASE);
  return signal === undefined ? { kind: "exited", exitCode: Number(reported) } : { kind: "signalled", signal };
}

/** For the log: nothing of what the program said. */
function describe(end: ProgramEnd): string {
  switch (end.kind) {
    case "failed":
      return end.reason;
    case "exited":
      return `exit code ${end.exitCode}`;
    case "signalled":
      return `signal ${end.signal}`;
  }
}

/** The bytes of all files in a directory without subdirectories. */
export async function directoryBytes(directory: string): Promise<number> {
  const names = await readdir(directory);
  const sizes = await Promise.all(names.map(async (name) => (await stat(join(directory, name))).size));
  return sizes.reduce((sum, size) => sum + size, 0);
}
