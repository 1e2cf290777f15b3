/**
 * What a whole file is: how each type begins, and how it ends. A connection may break, and what is in front of the service may
 * have taken `Content-Length` away or written it anew, so that only the file itself can tell whether all of it has come.
 */
import type { FileExtension } from "./file-types.ts";

/** Read as Latin-1. */
const BEGINNINGS: Readonly<Record<FileExtension, readonly string[]>> = {
  pdf: ["%PDF-"],
  png: ["\x89PNG\r\n\x1a\n"],
  svg: ["<svg", "<?xml"],
  zip: ["PK\x03\x04", "PK\x05\x06"],
};
const MAX_BEGINNING_BYTES = 8;

/** How text and PNG end, also read as Latin-1: the last line of a PDF (ISO 32000-2, 7.5.5), the chunk IEND, the root element. */
const ENDINGS = {
  pdf: /[\r\n]%%EOF[\0\t\n\f\r ]*$/,
  png: /\0\0\0\0IEND\xaeB`\x82$/,
  // Without content, the root is all there is.
  svg: /<\/svg\s*>\s*$|^(?:<\?xml[^<>]*>\s*)?<svg[^<>]*\/>\s*$/,
} as const;
/** More than an ending and the white space that may follow it. */
const MAX_TEXT_ENDING_BYTES = 1024;

/** The record that ends a ZIP, without its comment, whose length is its last field (APPNOTE.TXT, section 4.3.16). */
const END_RECORD_BYTES = 22;
const END_RECORD_SIGNATURE = 0x06054b50;
const MAX_COMMENT_BYTES = 0xffff;
/** Before it, in a ZIP64: where its own end record is (section 4.3.15). A field of the older record then has only ones. */
const ZIP64_LOCATOR_BYTES = 20;
const ZIP64_LOCATOR_SIGNATURE = 0x07064b50;
const ALL_ONES = 0xffffffff;

const MAX_ENDING_BYTES = END_RECORD_BYTES + MAX_COMMENT_BYTES + ZIP64_LOCATOR_BYTES;

export function isWholeFile(extension: FileExtension, bytes: Uint8Array): boolean {
  const file = new PassingFile(extension);
  file.add(bytes);
  return file.isWhole;
}

/** A file as its parts come, of which only the beginning and the last bytes are kept. */
export class PassingFile {
  readonly #extension: FileExtension;
  #start = "";
  #last: Uint8Array[] = [];
  #lastBytes = 0;
  #bytes = 0;

  constructor(extension: FileExtension) {
    this.#extension = extension;
  }

  add(part: Uint8Array): void {
    if (this.#start.length < MAX_BEGINNING_BYTES) {
      this.#start += String.fromCharCode(...part.subarray(0, MAX_BEGINNING_BYTES - this.#start.length));
    }
    this.#bytes += part.length;
    this.#lastBytes += part.length;
    this.#last.push(part);
    while (this.#lastBytes - (this.#last[0]?.length ?? 0) >= MAX_ENDING_BYTES) {
      this.#lastBytes -= this.#last.shift()?.length ?? 0;
    }
  }

  /** Null while too few bytes have come to tell. */
  get hasBegun(): boolean | null {
    const beginnings = BEGINNINGS[this.#extension];
    if (beginnings.some((beginning) => this.#start.startsWith(beginning))) return true;
    return beginnings.some((beginning) => beginning.startsWith(this.#start)) ? null : false;
  }

  /** Whether the file begins and ends as its type does. */
  get isWhole(): boolean {
    if (this.hasBegun !== true) return false;
    const end = this.#end();
    if (this.#extension === "zip") return hasEndRecord(end, this.#bytes);
    return ENDINGS[this.#extension].test(String.fromCharCode(...end.subarray(-MAX_TEXT_ENDING_BYTES)));
  }

  #end(): Uint8Array {
    const end = new Uint8Array(this.#lastBytes);
    let at = 0;
    for (const part of this.#last) {
      end.set(part, at);
      at += part.length;
    }
    return end;
  }
}

/** Whether a ZIP of this many bytes ends with its record, and the directory that this names ends where the record begins. */
function hasEndRecord({ buffer, byteOffset, byteLength }: Uint8Array, fileBytes: number): boolean {
  const view = new DataView(buffer, byteOffset, byteLength);
  const last = byteLength - END_RECORD_BYTES;
  for (let at = last; at >= Math.max(0, last - MAX_COMMENT_BYTES); at--) {
    if (view.getUint32(at, true) !== END_RECORD_SIGNATURE || view.getUint16(at + 20, true) !== last - at) continue;
    const [directoryBytes, directoryAt] = [view.getUint32(at + 12, true), view.getUint32(at + 16, true)];
    if (directoryBytes + directoryAt === fileBytes - byteLength + at) return true;
    const isZip64 = directoryBytes === ALL_ONES || directoryAt === ALL_ONES;
    const locator = at - ZIP64_LOCATOR_BYTES;
    if (isZip64 && locator >= 0 && view.getUint32(locator, true) === ZIP64_LOCATOR_SIGNATURE) return true;
  }
  return false;
}
