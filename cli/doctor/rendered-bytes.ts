/**
 * Looks into rendered files as far as it is cheap: signature, size of the pages, their number, and that the end is there.
 */
import { unzipSync } from "fflate";

/** What a rendered file must be. */
export interface Expected {
  readonly type: "pdf" | "png" | "svg";
  readonly widthPoints: number;
  readonly heightPoints: number;
  /** Of a PDF. */
  readonly pages?: number;
  /** Of a PDF: the part of PDF/A that its metadata name. */
  readonly pdfAPart?: number;
}

const PNG_SIGNATURE = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);
/** An entry of an archive that claims to be larger is not unpacked. */
const MAX_ENTRY_BYTES = 1024 * 1024;

/** What is wrong with the bytes, in words; null if nothing is. */
export function wrongIn(bytes: Buffer, expected: Expected): string | null {
  switch (expected.type) {
    case "pdf":
      return wrongInPdf(bytes, expected);
    case "png":
      return wrongInPng(bytes, expected);
    case "svg":
      return wrongInSvg(bytes, expected);
  }
}

function wrongInPdf(bytes: Buffer, { widthPoints, heightPoints, pages = 1, pdfAPart }: Expected): string | null {
  const text = bytes.toString("latin1");
  if (!/^%PDF-[12]\.\d/.test(text)) return "no PDF signature";
  if (!/%%EOF\s*$/.test(text)) return "the PDF has no end";
  const count = Number(/\/Type\s*\/Pages\s*\/Count (\d+)/.exec(text)?.[1]);
  if (count !== pages) return `the PDF has ${Number.isNaN(count) ? "no" : count} pages, not ${pages}`;
  if (!text.includes(`/MediaBox[0 0 ${widthPoints} ${heightPoints}]`)) return "the page has another size";
  const part = /<pdfaid:part>(\d)</.exec(text)?.[1];
  if (pdfAPart !== undefined && part !== String(pdfAPart)) return `its metadata do not say PDF/A-${pdfAPart}`;
  return null;
}

/** At 72 pixels per inch, where a point is a pixel. */
function wrongInPng(bytes: Buffer, { widthPoints, heightPoints }: Expected): string | null {
  if (bytes.length < 45 || !bytes.subarray(0, 8).equals(PNG_SIGNATURE)) return "no PNG signature";
  const [width, height] = [bytes.readUInt32BE(16), bytes.readUInt32BE(20)];
  if (width !== widthPoints || height !== heightPoints) {
    return `${width}×${height} pixels, not ${widthPoints}×${heightPoints}`;
  }
  return bytes.subarray(-8, -4).toString("latin1") === "IEND" ? null : "the PNG has no end";
}

function wrongInSvg(bytes: Buffer, { widthPoints, heightPoints }: Expected): string | null {
  const text = bytes.toString("utf8");
  if (!/^(?:<\?xml[^>]*>\s*)?<svg\s/.test(text)) return "no SVG at its start";
  if (!text.slice(0, 1000).includes(`viewBox="0 0 ${widthPoints} ${heightPoints}"`))
    return "the image has another size";
  return text.trimEnd().endsWith("</svg>") ? null : "the SVG has no end";
}

/** The same for an archive of as many pages, each of which must be what is expected. */
export function wrongInArchive(bytes: Buffer, pages: number, expected: Expected): string | null {
  let entries: Record<string, Uint8Array>;
  try {
    entries = unzipSync(bytes, { filter: ({ originalSize }) => originalSize <= MAX_ENTRY_BYTES });
  } catch {
    return "no ZIP that can be unpacked";
  }
  const names = Array.from(
    { length: pages },
    (_, index) => `page-${String(index + 1).padStart(2, "0")}.${expected.type}`,
  );
  const foundNames = Object.keys(entries);
  if (foundNames.join() !== names.join())
    return `entries ${foundNames.slice(0, 5).join(", ")}, not ${names.join(", ")}`;
  for (const [name, content] of Object.entries(entries)) {
    const wrong = wrongIn(Buffer.from(content), expected);
    if (wrong !== null) return `${name}: ${wrong}`;
  }
  return null;
}
