/**
 * Recognises files that are most likely documents of this service, by marks that Typst and the service's archives
 * contain.
 */
import { extname } from "node:path";

/**
 * Typst names itself as the creator of a PDF, in plain text near the end, and marks its SVG by a class at the
 * beginning.
 */
const PDF_MARK = Buffer.from("Typst ");
const SVG_MARK = 'class="typst-doc"';
const SVG_HEAD_BYTES = 1024;
/** The local header of a ZIP file has the name of its first entry here. */
const ZIP_NAME_OFFSET = 30;
const FIRST_PAGE = /^page-0*[0-9]+\.(?:png|svg)/;

export function looksWritten(key: string, bytes: Buffer): boolean {
  switch (extname(key).toLowerCase()) {
    case ".pdf":
      return bytes.includes(PDF_MARK);
    case ".svg":
      return bytes.subarray(0, SVG_HEAD_BYTES).includes(SVG_MARK);
    case ".zip":
      return FIRST_PAGE.test(bytes.subarray(ZIP_NAME_OFFSET, ZIP_NAME_OFFSET + 64).toString("latin1"));
    default:
      return false;
  }
}
