/** A program that a shell runs: what it needs to start, the line that starts it, and how the shell reports its end. */
import { constants as systemConstants } from "node:os";

export interface ProgramCommand {
  readonly file: string;
  readonly arguments: readonly string[];
  readonly environment: Readonly<Record<string, string>>;
  /** Unique among running programs: processes that are left behind are recognised by it. */
  readonly workingDirectory: string;
  /** A file that the program finds open for reading as `INHERITED_DESCRIPTOR`; null if there is none. */
  readonly inheritedFile: string | null;
  readonly limitCommands: readonly string[];
}

export const INHERITED_DESCRIPTOR = 3;

/** How a program ended. `diagnostics` is the beginning of its standard error, which is never logged or returned. */
export type ProgramEnd =
  | { readonly kind: "exited"; readonly exitCode: number; readonly diagnostics: string }
  | { readonly kind: "signalled"; readonly signal: string; readonly diagnostics: string }
  /** It never ran, or its end is unknown. `reason` is for the log: it holds no path and no message of the system. */
  | { readonly kind: "failed"; readonly reason: string };

export function startLine(command: ProgramCommand): string {
  const { workingDirectory, limitCommands, environment, inheritedFile, file } = command;
  const preparation = [
    ...limitCommands,
    // Shells export these by themselves.
    "unset PWD OLDPWD SHLVL",
    ...Object.entries(environment).map(([name, value]) => `export ${name}=${quote(value)}`),
    ...(inheritedFile === null ? [] : [`exec ${INHERITED_DESCRIPTOR}<${quote(inheritedFile)}`]),
  ];
  return shellCommand("start", workingDirectory, preparation.join(" && "), file, ...command.arguments);
}

/** A text as one word. Nothing in a command line can contain NUL. */
function quote(text: string): string {
  if (text.includes("\0")) throw new TypeError("a command line cannot contain NUL");
  return `'${text.replaceAll("'", "'\\''")}'`;
}

export function shellCommand(...words: readonly string[]): string {
  return words.map(quote).join(" ");
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

  /** Anything but `started` at the beginning says why the program was not started. */
  get hasFailedToStart(): boolean {
    return !STARTED.startsWith(this.#head.slice(0, STARTED.length));
  }

  endUnder(word: string): ProgramEnd | null {
    // Of a sandbox that was killed, something may go on writing for a moment.
    const [before = "", report = ""] = this.#tail.split(`${word} `);
    const status = Number(/^\d+(?=\n)/.exec(report) ?? Number.NaN);
    if (Number.isNaN(status)) return null;
    if (!this.hasStarted) return { kind: "failed", reason: "the program was not started" };
    const diagnostics = this.#head.slice(STARTED.length, this.#length - this.#tail.length + before.length);
    const signal = SIGNAL_NAMES.get(status - SIGNAL_STATUS_BASE);
    if (signal !== undefined) return { kind: "signalled", signal, diagnostics };
    return { kind: "exited", exitCode: status, diagnostics };
  }
}
