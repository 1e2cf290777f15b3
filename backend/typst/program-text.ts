/**
 * The text that Typst compiles: the caller's source under a prelude that names the data; and the text by which a Typst
 * without a request waits for it.
 */
import { DATA_FILE_NAME } from "../work-directory/render-directory.ts";

/** `data` and `request` are one value. The JSON text is the caller's own: numbers keep the form they were sent in. */
const PRELUDE = Buffer.from(`#let data = json("/${DATA_FILE_NAME}")\n#let request = data\n`);

const BYTE_ORDER_MARK = Buffer.from("\ufeff");
const SHEBANG = Buffer.from("#!");
/** What ends a line for Typst: CR LF, or one of LF, VT, FF, CR, NEL, LS, PS; here as the bytes of UTF-8, in Latin-1. */
const LINE_END = /\r\n|[\n\v\f\r]|\xc2\x85|\xe2\x80[\xa8\xa9]/;

/** The pieces of the program text in order. A `#!` line must stay the first one, and a BOM means something only there. */
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

/**
 * The line of the caller's source that is a line of its program text; both count from one. Typst's diagnostics count the
 * lines of the program text.
 */
export function sourceLine(source: Buffer, line: number): number {
  const linesAbovePrelude = programText(source)[0] === PRELUDE ? 0 : 1;
  return line <= linesAbovePrelude ? line : Math.max(line - PRELUDE_LINES, 1);
}

/**
 * The main text of a process that is started before its request: Typst evaluates it up to the file, a FIFO, from which it
 * then reads the program text.
 *
 * The tiling is laid out when it is made, and dropped: it is there because Typst looks for fonts and loads them when it
 * first needs one. Of the time that `= Hello` takes from its program text to its PDF, that is more than half (measured).
 *
 * The document is as if the program text were the main text: nothing but the included content is displayed, so it is the
 * whole document, not a part in one. It is included by `eval`, because that starts anew to count how deep calls are nested:
 * included otherwise, a template would have one call less before Typst refuses it.
 */
export function waitingText(fifoName: string): string {
  return `#let _ = tiling[= a\nb];#eval("include \\"/${fifoName}\\"")`;
}
