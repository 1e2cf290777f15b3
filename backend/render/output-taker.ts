/**
 * What takes the standard output of Typst: it goes into the output of the render as it comes, an SVG in escaped form.
 */
import type { Output } from "../../rules/output-options.ts";
import type { OutputTaker } from "../typst/process.ts";
import type { AppendResult, Spool } from "./spool.ts";
import { SvgEscaper } from "./svg-escaping.ts";

export interface CompletedTaker extends OutputTaker {
  /** Appends what the escaping has kept back. To be called once, after a success. */
  complete(): Promise<AppendResult>;
}

/** Appends to `spool` what Typst writes. */
export function outputTaker({ format }: Output, spool: Spool): CompletedTaker {
  if (format !== "svg") return { append: (piece) => spool.append(piece), complete: async () => "kept" };
  const escaper = new SvgEscaper();
  return {
    append: (piece) => appendAll(spool, escaper.push(piece)),
    complete: () => appendAll(spool, escaper.end()),
  };
}

async function appendAll(spool: Spool, pieces: readonly Buffer[]): Promise<AppendResult> {
  for (const piece of pieces) {
    const result = await spool.append(piece);
    if (result !== "kept") return result;
  }
  return "kept";
}
