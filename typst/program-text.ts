/**
 * The text that Typst compiles: the caller's source under a prelude that binds the data; and the text with which a
 * process waits for it.
 */
import { DATA_FILE_NAME } from "./file-layout.ts";

/** `data` and `request` are the same value. The JSON text is the caller's own, so numbers keep all their digits. */
export const DATA_BINDINGS = `#let data = json("/${DATA_FILE_NAME}")\n#let request = data\n`;
const PRELUDE = Buffer.from(DATA_BINDINGS);

const BYTE_ORDER_MARK = Buffer.from("\ufeff");
const SHEBANG = Buffer.from("#!");
/** CR LF, or one of LF, VT, FF, CR, NEL, LS, PS; as UTF-8 bytes, each written as a Latin-1 character. */
const LINE_END = /\r\n|[\n\v\f\r]|\xc2\x85|\xe2\x80[\xa8\xa9]/;

export function programText(source: Buffer): Buffer[] {
  return putBefore(source, PRELUDE);
}

/**
 * A source below lines of Typst. A `#!` line must stay the first line, and a BOM is only valid at the start. @param lines
 * statements such as `#let`, whose line ends Typst does not take for spaces
 */
export function putBefore(source: Buffer, lines: Buffer): Buffer[] {
  const text = source.subarray(0, BYTE_ORDER_MARK.length).equals(BYTE_ORDER_MARK)
    ? source.subarray(BYTE_ORDER_MARK.length)
    : source;
  if (!text.subarray(0, SHEBANG.length).equals(SHEBANG)) return [lines, text];
  const lineEnd = LINE_END.exec(text.toString("latin1"));
  if (lineEnd === null) return [text, Buffer.from("\n"), lines];
  const next = lineEnd.index + lineEnd[0].length;
  return [text.subarray(0, next), lines, text.subarray(next)];
}

/** Maps a line of the program text, which Typst's diagnostics name, to that of the caller's source. Both begin at 1. */
export function sourceLines(source: Buffer): (line: number) => number {
  return linesBelow(source, PRELUDE);
}

/** Maps a line of what `putBefore` has made to that of the source. */
export function linesBelow(source: Buffer, lines: Buffer): (line: number) => number {
  const linesAbove = putBefore(source, lines)[0] === lines ? 0 : 1;
  const count = lines.toString("latin1").split("\n").length - 1;
  return (line) => (line <= linesAbove ? line : Math.max(line - count, 1));
}

/**
 * The main text of a process that is started before its request: Typst evaluates it until it opens the FIFO, and reads
 * the program text from there (docs/decisions/one-process-per-render.md). Typst loads fonts when it first needs one,
 * which is more than half of the time for `= Hello`: the tiling, laid out at once and dropped, makes it do
 * so before it waits. `eval` starts a new count of nested calls: with a plain `include`, a template would have one
 * fewer.
 */
export function waitingText(fifoName: string): string {
  return `#let _ = tiling[= a\nb];#eval("include \\"/${fifoName}\\"")`;
}
