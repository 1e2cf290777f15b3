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
import { execa } from "execa";
import type { Launch } from "./sandbox/sandbox.ts";

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
const MAX_DIAGNOSTIC_BYTES = 4096;
const MAX_STATUS_BYTES = 4096;
const OUTPUT_DIRECTORY_POLL_MILLISECONDS = 25;
/** What a shell and bubblewrap add to the number of the signal that ended their child. */
const SIGNAL_EXIT_CODE_BASE = 128;

const SIGNAL_NAMES = new Map(Object.entries(constants.signals).map(([name, number]) => [number, name]));

export class TypstProcess {
  readonly #maxOutputBytes: number;
  readonly #stop = new AbortController();
  readonly #stdin: NodeJS.WritableStream;
  readonly #result: Promise<TypstResult>;
  #stopReason: StopReason | null = null;
  #filesBytes = 0;
  #hasEnded = false;

  /** Starts Typst. It waits until it is fed. Never throws for what the program does; the result says it all. */
  constructor(launch: Launch, maxOutputBytes: number) {
    this.#maxOutputBytes = maxOutputBytes;
    const subprocess = execa(launch.file, launch.arguments, {
      cwd: launch.workingDirectory,
      env: launch.environment,
      extendEnv: false,
      stdio: [
        "pipe",
        "pipe",
        "pipe",
        launch.descriptor3Input ?? "ignore",
        launch.statusReport === "json" ? "pipe" : "ignore",
      ],
      buffer: false,
      encoding: "buffer",
      stripFinalNewline: false,
      reject: false,
      cancelSignal: this.#stop.signal,
      killSignal: "SIGKILL",
      killDescendants: true,
      cleanup: true,
    });
    this.#stdin = subprocess.stdin;
    // A process that ends before it has read everything closes the pipe: EPIPE is no error of ours.
    this.#stdin.on("error", () => {});
    const status = subprocess.stdio[4];
    this.#result = Promise.all([
      this.#collectOutput(subprocess.stdout),
      collectHead(subprocess.stderr, MAX_DIAGNOSTIC_BYTES),
      status === null || status === undefined || !("readable" in status) ? "" : collectHead(status, MAX_STATUS_BYTES),
      subprocess,
    ]).then(([output, diagnostics, statusText, result]) => {
      this.#hasEnded = true;
      return {
        end: this.#endOf(result, launch, statusText),
        output: Buffer.concat(output.chunks),
        outputBytes: Math.max(output.size, this.#filesBytes),
        ranOutOfMemory: OUT_OF_MEMORY.test(diagnostics),
      };
    });
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
    const timer = setTimeout(() => this.stop("render-timeout"), task.timeoutMilliseconds);
    const stopWatching = task.outputDirectory === null ? () => {} : this.#watchFiles(task.outputDirectory);
    try {
      // Not waited for: a process that has ended takes nothing, and its end is what counts.
      for (const piece of task.input) this.#stdin.write(piece);
      this.#stdin.end();
      return await this.#result;
    } finally {
      clearTimeout(timer);
      stopWatching();
      task.signal.removeEventListener("abort", onClientGone);
    }
  }

  /** Kills the whole process group. The first reason stays. */
  stop(reason: StopReason): void {
    this.#stopReason ??= reason;
    this.#stop.abort();
  }

  /** Kills a process that no request will come for, and waits until it is gone. */
  async discard(): Promise<void> {
    this.stop("not-needed");
    await this.#result;
  }

  #endOf(result: ProcessResult, { statusReport }: Launch, statusText: string): TypstEnd {
    const { exitCode, signal, cause } = result;
    if (exitCode !== undefined) {
      // A process that ended by itself just before it was to be stopped still ended by itself.
      if (statusReport === "direct") return { kind: "exited", exitCode };
      const reported = /"exit-code": (\d+)/.exec(statusText)?.[1];
      if (reported !== undefined) return endOfReported(Number(reported));
    }
    if (this.#stopReason !== null) return { kind: "stopped", reason: this.#stopReason };
    if (signal !== undefined && statusReport === "direct") return { kind: "signalled", signal };
    const message = `the sandbox failed: exit code ${exitCode ?? "none"}, signal ${signal ?? "none"}`;
    return { kind: "not-started", cause: cause instanceof Error ? cause : new Error(message) };
  }

  /** Gathers standard output up to the limit; over it, nothing is kept and the process is stopped. */
  async #collectOutput(stream: NodeJS.ReadableStream): Promise<{ chunks: Buffer[]; size: number }> {
    let chunks: Buffer[] = [];
    let size = 0;
    for await (const chunk of ignoringErrors(stream)) {
      size += chunk.length;
      if (size <= this.#maxOutputBytes) {
        chunks.push(chunk);
      } else {
        chunks = [];
        this.stop("output-too-large");
      }
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

interface ProcessResult {
  readonly exitCode?: number | undefined;
  readonly signal?: string | undefined;
  readonly cause?: unknown;
}

function endOfReported(exitCode: number): TypstEnd {
  const signal = SIGNAL_NAMES.get(exitCode - SIGNAL_EXIT_CODE_BASE);
  return signal === undefined ? { kind: "exited", exitCode } : { kind: "signalled", signal };
}

/** The first bytes of a stream as text. The rest is read and dropped, so that the writer never blocks. */
async function collectHead(stream: NodeJS.ReadableStream, maxBytes: number): Promise<string> {
  let head = "";
  for await (const chunk of ignoringErrors(stream)) {
    if (head.length < maxBytes) head += chunk.toString("latin1").slice(0, maxBytes);
  }
  return head;
}

/** A killed process may break its pipes; how it ended is told by its exit, not by them. */
async function* ignoringErrors(stream: NodeJS.ReadableStream): AsyncGenerator<Buffer> {
  try {
    for await (const chunk of stream) yield Buffer.isBuffer(chunk) ? chunk : Buffer.from(chunk);
  } catch {
    return;
  }
}

/** The bytes of all files in a directory without subdirectories. */
export async function directoryBytes(directory: string): Promise<number> {
  const names = await readdir(directory);
  const sizes = await Promise.all(names.map(async (name) => (await stat(join(directory, name))).size));
  return sizes.reduce((sum, size) => sum + size, 0);
}
