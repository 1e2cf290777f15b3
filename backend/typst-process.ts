/**
 * The life of one Typst process: start, feed, count, stop, and how it ended. It judges nothing (`outcome.ts` does).
 *
 * Its output is counted while it comes, its diagnostics are drained and forgotten but for the first bytes, and whatever
 * stops it kills its whole process group.
 */
import { once } from "node:events";
import { readdir, stat } from "node:fs/promises";
import { join } from "node:path";
import { execa } from "execa";
import type { TypstCommand } from "./typst-command.ts";

/** Why a process was stopped by us. */
export type StopReason = "render-timeout" | "client-gone" | "output-too-large";

/** How a process ended. */
export type TypstEnd =
  | { readonly kind: "exited"; readonly exitCode: number }
  | { readonly kind: "signalled"; readonly signal: string }
  | { readonly kind: "stopped"; readonly reason: StopReason }
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

export interface TypstRun {
  readonly typstPath: string;
  readonly command: TypstCommand;
  /** The program text, in pieces. */
  readonly input: readonly Buffer[];
  readonly maxOutputBytes: number;
  readonly timeoutMilliseconds: number;
  /** Aborted when the client goes away. */
  readonly signal: AbortSignal;
  /** The directory to watch where the command writes files. */
  readonly outputDirectory: string;
}

/** Rust's allocator says this before it aborts (measured on 0.15.1); it is the only text of Typst's that is looked at. */
const OUT_OF_MEMORY = /^memory allocation of \d+ bytes failed/m;
const MAX_DIAGNOSTIC_BYTES = 4096;
const OUTPUT_DIRECTORY_POLL_MILLISECONDS = 50;

/** Runs Typst to its end. Never throws for what Typst does; the end says it all. */
export async function runTypst(run: TypstRun): Promise<TypstResult> {
  const stop = new AbortController();
  let stopReason: StopReason | null = null;
  const stopFor = (reason: StopReason) => {
    stopReason ??= reason;
    stop.abort();
  };
  const onClientGone = () => stopFor("client-gone");
  run.signal.addEventListener("abort", onClientGone, { once: true });
  if (run.signal.aborted) onClientGone();
  const timer = setTimeout(stopFor, run.timeoutMilliseconds, "render-timeout");

  const subprocess = execa(run.typstPath, run.command.arguments, {
    cwd: run.command.workingDirectory,
    env: run.command.environment,
    extendEnv: false,
    stdin: "pipe",
    stdout: "pipe",
    stderr: "pipe",
    buffer: false,
    encoding: "buffer",
    stripFinalNewline: false,
    reject: false,
    cancelSignal: stop.signal,
    killSignal: "SIGKILL",
    killDescendants: true,
    cleanup: true,
  });
  const stopWatching =
    run.command.target === "output-directory"
      ? watchOutputDirectory(run.outputDirectory, run.maxOutputBytes, () => stopFor("output-too-large"))
      : () => {};

  try {
    const [output, diagnostics, , result] = await Promise.all([
      collectOutput(subprocess.stdout, run.maxOutputBytes, () => stopFor("output-too-large")),
      collectHead(subprocess.stderr),
      feed(subprocess.stdin, run.input),
      subprocess,
    ]);
    return {
      end: endOf(result, stopReason),
      output: Buffer.concat(output.chunks),
      outputBytes: output.size,
      ranOutOfMemory: OUT_OF_MEMORY.test(diagnostics),
    };
  } finally {
    clearTimeout(timer);
    stopWatching();
    run.signal.removeEventListener("abort", onClientGone);
  }
}

interface ProcessResult {
  readonly exitCode?: number | undefined;
  readonly signal?: string | undefined;
  readonly cause?: unknown;
}

function endOf({ exitCode, signal, cause }: ProcessResult, stopReason: StopReason | null): TypstEnd {
  // A process that ended by itself just before it was to be stopped still ended by itself.
  if (exitCode !== undefined) return { kind: "exited", exitCode };
  if (stopReason !== null) return { kind: "stopped", reason: stopReason };
  if (signal !== undefined) return { kind: "signalled", signal };
  return { kind: "not-started", cause: cause instanceof Error ? cause : new Error("Typst could not be started") };
}

/** Gathers standard output up to the limit; over it, nothing more is kept and `onTooLarge` is told. */
async function collectOutput(
  stream: NodeJS.ReadableStream,
  maxBytes: number,
  onTooLarge: () => void,
): Promise<{ chunks: Buffer[]; size: number }> {
  let chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of ignoringErrors(stream)) {
    size += chunk.length;
    if (size <= maxBytes) {
      chunks.push(chunk);
    } else {
      chunks = [];
      onTooLarge();
    }
  }
  return { chunks, size };
}

/** The first bytes of a stream as text. The rest is read and dropped, so that the writer never blocks. */
async function collectHead(stream: NodeJS.ReadableStream): Promise<string> {
  let head = "";
  for await (const chunk of ignoringErrors(stream)) {
    if (head.length < MAX_DIAGNOSTIC_BYTES) head += chunk.toString("latin1").slice(0, MAX_DIAGNOSTIC_BYTES);
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

async function feed(stdin: NodeJS.WritableStream, pieces: readonly Buffer[]): Promise<void> {
  // A process that ends before it has read everything closes the pipe: EPIPE is no error of ours.
  stdin.on("error", () => {});
  for (const piece of pieces) stdin.write(piece);
  const closed = once(stdin, "close").catch(() => {});
  stdin.end();
  await closed;
}

/** Sums up the files of a directory again and again, so that output on disk is bounded while it is made. */
function watchOutputDirectory(directory: string, maxBytes: number, onTooLarge: () => void): () => void {
  let isWatching = true;
  const poll = async (): Promise<void> => {
    const size = await directorySize(directory).catch(() => 0);
    if (size > maxBytes) onTooLarge();
    else if (isWatching) timer = setTimeout(poll, OUTPUT_DIRECTORY_POLL_MILLISECONDS);
  };
  let timer = setTimeout(poll, OUTPUT_DIRECTORY_POLL_MILLISECONDS);
  return () => {
    isWatching = false;
    clearTimeout(timer);
  };
}

/** The bytes of all files in a directory without subdirectories. */
export async function directorySize(directory: string): Promise<number> {
  const names = await readdir(directory);
  const sizes = await Promise.all(names.map(async (name) => (await stat(join(directory, name))).size));
  return sizes.reduce((sum, size) => sum + size, 0);
}
