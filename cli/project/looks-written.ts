/** Whether a file is most likely a document of this service, by what Typst and the service's archives have in them. */
import { extname } from "node:path";

/** Typst names itself as the creator of a PDF, in plain text at its end, and its SVG by a class at its beginning. */
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
