/**
 * The text that Typst compiles: the caller's source under a prelude that binds the data; and the text with which a
 * process waits for it.
 */
import { DATA_FILE_NAME } from "./file-layout.ts";

/** `data` and `request` are the same value. The JSON text is the caller's own, so numbers keep all their digits. */
const PRELUDE = Buffer.from(`#let data = json("/${DATA_FILE_NAME}")\n#let request = data\n`);

const BYTE_ORDER_MARK = Buffer.from("\ufeff");
const SHEBANG = Buffer.from("#!");
/** CR LF, or one of LF, VT, FF, CR, NEL, LS, PS; as UTF-8 bytes, each written as a Latin-1 character. */
const LINE_END = /\r\n|[\n\v\f\r]|\xc2\x85|\xe2\x80[\xa8\xa9]/;

/** A `#!` line must stay the first line, and a BOM is only valid at the start. */
export function programText(source: Buffer): Buffer[] {
  const text = source.subarray(0, BYTE_ORDER_MARK.length).equals(BYTE_ORDER_MARK)
    ? source.subarray(BYTE_ORDER_MARK.length)
    : source;
  if (!text.subarray(0, SHEBANG.length).equals(SHEBANG)) return [PRELUDE, text];
  const lineEnd = LINE_END.exec(text.toString("latin1"));
  if (lineEnd === null) return [text, Buffer.from("\n"), PRELUDE];
  const next = lineEnd.index + lineEnd[0].length;
  return [text.subarray(0, next), PRELUDE, text.subarray(next)];
}

const PRELUDE_LINES = PRELUDE.toString("latin1").split("\n").length - 1;

/** Maps a line of the program text, which Typst's diagnostics name, to that of the caller's source. Both begin at 1. */
export function sourceLines(source: Buffer): (line: number) => number {
  const linesAbovePrelude = programText(source)[0] === PRELUDE ? 0 : 1;
  return (line) => (line <= linesAbovePrelude ? line : Math.max(line - PRELUDE_LINES, 1));
}

/**
 * The main text of a process that is started before its request: Typst evaluates it until it opens the FIFO, and reads
 * the program text from there (docs/decisions/source-through-a-fifo.md). Typst loads fonts when it first needs one,
 * which is more than half of the time for `= Hello` (2026-11-21): the tiling, laid out at once and dropped, makes it do
 * so before it waits. `eval` starts a new count of nested calls: with a plain `include`, a template would have one
 * fewer.
 */
export function waitingText(fifoName: string): string {
  return `#let _ = tiling[= a\nb];#eval("include \\"/${fifoName}\\"")`;
}
