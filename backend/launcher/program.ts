/** A program that a shell runs: what it needs to start, the line that starts it, its input, the report of its end. */
import { closeSync, constants, openSync, writeSync } from "node:fs";
import { constants as systemConstants } from "node:os";
import { setTimeout as delay } from "node:timers/promises";
import { errorCode } from "../error-log.ts";

export interface ProgramCommand {
  readonly file: string;
  readonly arguments: readonly string[];
  readonly environment: Readonly<Record<string, string>>;
  /** Unique among running programs: processes that are left behind are recognised by it. */
  readonly workingDirectory: string;
  /** A file that the program finds open for reading as `INHERITED_DESCRIPTOR`; null if there is none. */
  readonly inheritedFile: string | null;
  /** Commands of its shell, in its directory, before it runs: limits, for one. */
  readonly setUpCommands: readonly string[];
}

export const INHERITED_DESCRIPTOR = 3;

/** How a program ended. `diagnostics` is the beginning of its standard error, which is never logged or returned. */
export type ProgramEnd =
  | { readonly kind: "exited"; readonly exitCode: number; readonly diagnostics: string }
  | { readonly kind: "signalled"; readonly signal: string; readonly diagnostics: string }
  /** The program never ran, or its end is unknown. `reason` is for the log: it may quote the shell, which knows nothing of a request. */
  | { readonly kind: "failed"; readonly reason: string; readonly hasStarted: boolean };

export function startLine(command: ProgramCommand): string {
  const { workingDirectory, setUpCommands, environment, inheritedFile, file } = command;
  const preparation = [
    ...setUpCommands,
    // Shells export these by themselves.
    "unset PWD OLDPWD SHLVL",
    ...Object.entries(environment).map(([name, value]) => `export ${name}=${quote(value)}`),
    ...(inheritedFile === null ? [] : [`exec ${INHERITED_DESCRIPTOR}<${quote(inheritedFile)}`]),
  ];
  return shellCommand("start", workingDirectory, preparation.join(" && "), file, ...command.arguments);
}

/** Makes a text one word of a shell command. Nothing in a command line can contain NUL. */
function quote(text: string): string {
  if (text.includes("\0")) throw new TypeError("a command line cannot contain NUL");
  return `'${text.replaceAll("'", "'\\''")}'`;
}

export function shellCommand(...words: readonly string[]): string {
  return words.map(quote).join(" ");
}

/** Under full load, the reader is still starting. A try costs 0.1 ms, so the pauses grow with the wait. */
const MIN_RETRY_MILLISECONDS = 1;
const RETRY_PART_OF_WAIT = 1 / 8;

export interface FifoReader {
  /** Resolves when it has ended. Never rejects. */
  readonly end: Promise<unknown>;
  kill(): void;
}

/**
 * Writes the whole text, or kills the reader, so that none takes a part for the whole. The calls do not block, and take
 * a fifth of the time of Node's thread pool. @returns whether all of it was written.
 */
export async function writeFifo(path: string, chunks: readonly Buffer[], reader: FifoReader): Promise<boolean> {
  let hasReaderEnded = false;
  void reader.end.then(() => {
    hasReaderEnded = true;
  });
  const retry = async <Result>(attempt: () => Result, retriedCode: string): Promise<Result | null> => {
    const started = performance.now();
    while (!hasReaderEnded) {
      try {
        return attempt();
      } catch (error) {
        if (errorCode(error) !== retriedCode) throw error;
      }
      await delay(Math.max(MIN_RETRY_MILLISECONDS, (performance.now() - started) * RETRY_PART_OF_WAIT));
    }
    return null;
  };
  let descriptor: number | null = null;
  try {
    // ENXIO: the reader has not opened it.
    const opened = await retry(() => openSync(path, constants.O_WRONLY | constants.O_NONBLOCK), "ENXIO");
    if (opened === null) return false;
    descriptor = opened;
    let rest = Buffer.concat(chunks);
    while (rest.length > 0) {
      // EAGAIN: it is full.
      const writtenBytes = await retry(() => writeSync(opened, rest), "EAGAIN");
      if (writtenBytes === null) return false;
      rest = rest.subarray(writtenBytes);
    }
    return true;
  } catch {
    reader.kill();
    await reader.end;
    return false;
  } finally {
    if (descriptor !== null) closeSync(descriptor);
  }
}

const MAX_COMPLAINT_LENGTH = 300;

/** The first line of what a shell or a launcher complains of, for the end of a log line: printable, and short. */
export function quoteComplaint(text: string): string {
  const [line = ""] = text.trimStart().split("\n", 1);
  const printable = line.replaceAll(/[^\x20-\x7e]/g, "?").trimEnd();
  return printable === "" ? "" : `: ${printable.slice(0, MAX_COMPLAINT_LENGTH)}`;
}

const STARTED = "started\n";
const MAX_DIAGNOSTICS_LENGTH = 4096;
const MAX_REPORT_LENGTH = 64;
const SIGNAL_STATUS_BASE = 128;
const SIGNAL_NAMES = new Map(Object.entries(systemConstants.signals).map(([name, number]) => [number, name]));

/** What comes through the pipe of a shell: `started`, the program's standard error, and the report of its end. */
export class ShellReport {
  #head = "";
  #tail = "";
  #length = 0;

  append(text: string): void {
    this.#length += text.length;
    this.#head += text.slice(0, STARTED.length + MAX_DIAGNOSTICS_LENGTH - this.#head.length);
    this.#tail = this.#tail.slice(-MAX_REPORT_LENGTH) + text;
  }

  get hasStarted(): boolean {
    return this.#head.startsWith(STARTED);
  }

  /** A whole first line but `started` says why the program was not started. Shells write such a line in pieces. */
  get hasFailedToStart(): boolean {
    return this.#head.includes("\n") && !this.hasStarted;
  }

  parseEnd(word: string): ProgramEnd | null {
    // A part of a killed sandbox may go on writing for a moment.
    const [before = "", report = ""] = this.#tail.split(`${word} `);
    const status = Number(/^\d+(?=\n)/.exec(report) ?? Number.NaN);
    if (Number.isNaN(status)) return null;
    if (!this.hasStarted) {
      const complaint = quoteComplaint(
        this.#head.slice(0, Math.max(0, this.#length - this.#tail.length + before.length)),
      );
      return { kind: "failed", reason: `the program was not started${complaint}`, hasStarted: false };
    }
    const diagnostics = this.#head.slice(STARTED.length, this.#length - this.#tail.length + before.length);
    const signal = SIGNAL_NAMES.get(status - SIGNAL_STATUS_BASE);
    if (signal !== undefined) return { kind: "signalled", signal, diagnostics };
    return { kind: "exited", exitCode: status, diagnostics };
  }
}
