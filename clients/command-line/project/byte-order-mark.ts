/**
 * Reads the text of a file, without the byte order mark that some editors put before it. For UTF-8 the mark means
 * nothing, but the mark of UTF-16 tells why a file cannot be read.
 */
import { isUtf8 } from "node:buffer";
import { CommandError } from "../exit-codes.ts";

const UTF_8_MARK = Buffer.from([0xef, 0xbb, 0xbf]);
const UTF_16_MARKS = [Buffer.from([0xff, 0xfe]), Buffer.from([0xfe, 0xff])];

/** @param name for messages. @throws CommandError when it is not UTF-8 */
export function utf8Text(bytes: Buffer, name: string): string {
  if (UTF_16_MARKS.some((mark) => bytes.subarray(0, mark.length).equals(mark))) {
    throw new CommandError(`${name} begins with the byte order mark of UTF-16: save it as UTF-8.`);
  }
  if (!isUtf8(bytes)) throw new CommandError(`${name} is not UTF-8: save it as UTF-8.`);
  return (hasByteOrderMark(bytes) ? bytes.subarray(UTF_8_MARK.length) : bytes).toString("utf8");
}

export function byteOrderMarkNote(bytes: Buffer, name: string): string[] {
  return hasByteOrderMark(bytes) ? [`${name} begins with a byte order mark, which is not sent.`] : [];
}

function hasByteOrderMark(bytes: Buffer): boolean {
  return bytes.subarray(0, UTF_8_MARK.length).equals(UTF_8_MARK);
}
