/** What a shell of the launcher reports of one program. */
import { constants as systemConstants } from "node:os";
import type { ProgramEnd } from "./program.ts";

const STARTED = "started\n";
/** Enough to see how a program ended. The rest of its diagnostics is dropped. */
const MAX_DIAGNOSTICS_LENGTH = 4096;
const MAX_REPORT_LENGTH = 64;
const SIGNAL_STATUS_BASE = 128;
const SIGNAL_NAMES = new Map(Object.entries(systemConstants.signals).map(([name, number]) => [number, name]));

/**
 * What comes through the pipe of a shell: `started`, what the program writes to its standard error, and at last the
 * shell's report of its end. Anything else at the beginning says why the program was not started.
 */
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

  get hasFailedToStart(): boolean {
    return !STARTED.startsWith(this.#head.slice(0, STARTED.length));
  }

  /** How the program ended; null until that is reported under `word`. */
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
