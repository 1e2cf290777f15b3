/** Which bytes are a whole file. Those of the service, cut off at each byte, are in test/clients/typescript/broken-answers.test.ts. */
import { strToU8, zipSync } from "fflate";
import { expect, it } from "vitest";
import type { FileExtension } from "../../protocol/file-types.ts";
import { isWholeFile, PassingFile } from "../../protocol/whole-file.ts";

const latin1 = (text: string) => Uint8Array.from(text, (character) => character.charCodeAt(0));
const ARCHIVE = zipSync({ "page-01.svg": strToU8("<svg></svg>") });

/** A ZIP with a comment after its end record. */
function commented(comment: string): Uint8Array {
  const bytes = new Uint8Array([...ARCHIVE, ...latin1(comment)]);
  new DataView(bytes.buffer).setUint16(ARCHIVE.length - 2, comment.length, true);
  return bytes;
}

/** Its end record with only ones where a ZIP64 has its own, and the locator of that before it. */
function zip64(locatorSignature: string): Uint8Array {
  const end = ARCHIVE.slice(-22);
  end.fill(0xff, 12, 20);
  return new Uint8Array([...ARCHIVE.subarray(0, -22), ...latin1(locatorSignature), ...new Uint8Array(16), ...end]);
}

it("a file is told in whatever parts it comes", () => {
  const file = new PassingFile("pdf");
  expect(file.hasBegun).toBeNull();
  for (const byte of latin1("%PDF-1.7\n1 0 obj\n%%EOF")) {
    expect(file.isWhole).toBe(false);
    file.add(Uint8Array.of(byte));
  }
  expect([file.hasBegun, file.isWhole]).toEqual([true, true]);
});

it.each<[what: string, extension: FileExtension, bytes: Uint8Array, isWhole: boolean]>([
  ["a PDF with an end of line", "pdf", latin1("%PDF-1.7\n%%EOF\r\n"), true],
  ["a PDF with text after its end", "pdf", latin1("%PDF-1.7\n%%EOF\nmore"), false],
  ["a PDF whose title is its end", "pdf", latin1("%PDF-1.7\n(a %%EOF"), false],
  ["another file with the end of a PDF", "pdf", latin1("<html>\n%%EOF"), false],
  ["an SVG with white space", "svg", latin1("<svg><g/></svg>\n \n"), true],
  ["an SVG that ends within an element", "svg", latin1("<svg><g/>"), false],
  ["an SVG with a declaration and no content", "svg", latin1('<?xml version="1.0"?>\n<svg width="1"/>\n'), true],
  ["a PNG with more after its last chunk", "png", latin1("\x89PNG\r\n\x1a\n\0\0\0\0IEND\xaeB`\x82."), false],
  ["a ZIP with a comment", "zip", commented("made by a proxy"), true],
  ["a ZIP with the longest comment", "zip", commented("x".repeat(0xffff)), true],
  ["a ZIP whose comment is cut off", "zip", commented("made by a proxy").subarray(0, -1), false],
  ["a ZIP whose directory is elsewhere", "zip", new Uint8Array([...latin1("PK\x03\x04"), ...ARCHIVE]), false],
  ["a ZIP64", "zip", zip64("PK\x06\x07"), true],
  ["a ZIP that says it is a ZIP64 and has no locator", "zip", zip64("PK\x06\x06"), false],
  ["nothing", "pdf", new Uint8Array(), false],
])("%s", (_what, extension, bytes, isWhole) => {
  expect(isWholeFile(extension, bytes)).toBe(isWhole);
});
