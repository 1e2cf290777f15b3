/** Writes lines to an output that nobody may be reading: what does not fit is dropped, counted, and reported once there is room. */
import type { Writable } from "node:stream";
import { setTimeout as delay } from "node:timers/promises";

const MAX_WAITING_BYTES = 1024 * 1024;
const LAST_LINES_MILLISECONDS = 1000;

/** The line that says how many lines were dropped before it. */
type DropReport = (lines: number) => string;

const reportDropped: DropReport = (lines) => JSON.stringify({ message: "log lines were dropped", lines });

export class LogOutput {
  readonly #output: Writable;
  readonly #reportDropped: DropReport;
  #unreported = 0;
  #dropped = 0;

  /** @param report in the form of the program's other lines */
  constructor(output: Writable, report = reportDropped) {
    this.#output = output;
    this.#reportDropped = report;
    // Whoever read it has gone.
    output.on("error", () => {});
  }

  /** Since the start. */
  get droppedLines(): number {
    return this.#dropped;
  }

  /** @param line with its line feed */
  writeLine(line: string): void {
    if (this.#output.writableLength + line.length > MAX_WAITING_BYTES) {
      this.#dropped++;
      this.#unreported++;
      return;
    }
    if (this.#unreported > 0) {
      this.#output.write(`${this.#reportDropped(this.#unreported)}\n`);
      this.#unreported = 0;
    }
    this.#output.write(line);
  }

  /** Waits until all that was kept has been taken, or a second at most: a program must not wait for a log that nobody reads. */
  async end(): Promise<void> {
    if (this.#output.writableLength === 0) return;
    const taken = new Promise<void>((resolve) => this.#output.write("", () => resolve()));
    await Promise.race([taken, delay(LAST_LINES_MILLISECONDS, undefined, { ref: false })]);
  }
}
