/**
 * The text that Typst compiles: the caller's source under a prelude that names the data.
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
