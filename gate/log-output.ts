/** Writes lines to an output that nobody may be reading: what does not fit is dropped, counted, and reported once there is room. */
import { once } from "node:events";
import type { Writable } from "node:stream";

const MAX_WAITING_BYTES = 1024 * 1024;
/** A line without an end is cut into pieces of this size. */
const MAX_LINE_BYTES = 64 * 1024;
const LINE_FEED = 0x0a;

export class LogOutput {
  readonly #output: Writable;
  #dropped = 0;

  constructor(output: Writable) {
    this.#output = output;
    // Whoever read it has gone.
    output.on("error", () => {});
  }

  writeLine(line: Uint8Array | string): void {
    if (this.#output.writableLength + line.length > MAX_WAITING_BYTES) {
      this.#dropped++;
      return;
    }
    if (this.#dropped > 0) {
      const report = { message: "log lines were dropped", lines: this.#dropped };
      this.#dropped = 0;
      this.#output.write(`${JSON.stringify(report)}\n`);
    }
    this.#output.write(line);
  }

  /** @returns when all that was kept has been taken. */
  async written(): Promise<void> {
    if (this.#output.writableLength > 0) await once(this.#output, "drain").catch(() => {});
  }

  /** Takes the output of a program, line by line. */
  async copy(source: AsyncIterable<Buffer>): Promise<void> {
    let rest: Buffer = Buffer.alloc(0);
    for await (const chunk of source) {
      let text = rest.length === 0 ? chunk : Buffer.concat([rest, chunk]);
      for (let end = text.indexOf(LINE_FEED); end >= 0; end = text.indexOf(LINE_FEED)) {
        this.writeLine(text.subarray(0, end + 1));
        text = text.subarray(end + 1);
      }
      if (text.length > MAX_LINE_BYTES) {
        this.writeLine(text);
        text = Buffer.alloc(0);
      }
      rest = text;
    }
    if (rest.length > 0) this.writeLine(rest);
  }
}
