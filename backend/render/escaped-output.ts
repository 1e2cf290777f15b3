/**
 * What takes the standard output of Typst where that is an SVG: it goes into the output of the render in escaped form.
 */
import type { AppendResult, OutputTaker } from "../typst/process.ts";
import type { Spool } from "./spool.ts";
import { SvgEscaper } from "./svg-escaping.ts";

export class EscapedOutput implements OutputTaker {
  readonly #escaper = new SvgEscaper();
  readonly #output: Spool;

  constructor(output: Spool) {
    this.#output = output;
  }

  append(piece: Buffer): Promise<AppendResult> {
    return this.#appendAll(this.#escaper.push(piece));
  }

  /** Appends the few bytes that the escaping has kept back. To be called once, after a success. */
  complete(): Promise<AppendResult> {
    return this.#appendAll(this.#escaper.end());
  }

  async #appendAll(pieces: readonly Buffer[]): Promise<AppendResult> {
    for (const piece of pieces) {
      const result = await this.#output.append(piece);
      if (result !== "kept") return result;
    }
    return "kept";
  }
}
