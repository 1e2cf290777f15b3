/**
 * Escapes an SVG from Typst's standard output on its way into the output of the render.
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

  /** Appends the last bytes, which the escaper has held back. To be called once, if Typst succeeded. */
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
