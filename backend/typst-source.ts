/**
 * The text that Typst compiles: the caller's source under a prelude that names the data.
 */
import { DATA_FILE_NAME } from "./project.ts";

/** `data` and `request` are one value. The JSON text is the caller's own: numbers keep the form they were sent in. */
const PRELUDE = Buffer.from(`#let data = json("/${DATA_FILE_NAME}")\n#let request = data\n`);

const BYTE_ORDER_MARK = Buffer.from("\ufeff");
const SHEBANG = Buffer.from("#!");
const LINE_FEED = 0x0a;

/** The pieces of the program text in order. A `#!` line must stay the first one, and a BOM means something only there. */
export function programText(source: Buffer): Buffer[] {
  const text = source.subarray(0, BYTE_ORDER_MARK.length).equals(BYTE_ORDER_MARK)
    ? source.subarray(BYTE_ORDER_MARK.length)
    : source;
  if (!text.subarray(0, SHEBANG.length).equals(SHEBANG)) return [PRELUDE, text];
  const lineEnd = text.indexOf(LINE_FEED);
  if (lineEnd < 0) return [text, Buffer.from("\n"), PRELUDE];
  return [text.subarray(0, lineEnd + 1), PRELUDE, text.subarray(lineEnd + 1)];
}
