/** What the service adds to an output of Typst, for backend and command line: both give the same bytes. */
import type { Output } from "../rules/output-options.ts";
import { PngResolution } from "./png-resolution.ts";
import { SvgEscaper } from "./svg-escaping.ts";

/** Completes one file that comes in chunks, wherever they are cut. */
export interface OutputCompletion {
  /** Returns what is ready. A few bytes may be kept for the next call. */
  push(chunk: Buffer): readonly Buffer[];
  end(): readonly Buffer[];
}

export function completionOf(output: Output): OutputCompletion {
  switch (output.format) {
    case "pdf":
      return { push: (chunk) => [chunk], end: () => [] };
    case "png":
      return new PngResolution(output.ppi);
    case "svg":
      return new SvgEscaper();
  }
}

export function completeWhole(output: Output, file: Buffer): Buffer {
  return Buffer.concat(completePieces(output, file));
}

/** A file that is there as a whole, in pieces of which none is copied that stays as it is. */
export function completePieces(output: Output, file: Buffer): Buffer[] {
  const completion = completionOf(output);
  return [...completion.push(file), ...completion.end()];
}
