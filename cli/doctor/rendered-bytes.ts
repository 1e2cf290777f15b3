/**
 * Looks into rendered files as far as it is cheap: signature, size of the pages, their number, and that the end is there.
 */
import { unzipSync } from "fflate";

/** What a rendered file must be: of this type, with pages of this size. */
export interface Expected {
  readonly type: "pdf" | "png" | "svg";
  readonly widthPoints: number;
  readonly heightPoints: number;
  /** Of a PDF, or the entries of an archive. */
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
      return wrongInPdf(bytes.toString("latin1"), expected);
    case "png":
      return wrongInPng(bytes, expected);
    case "svg":
      return wrongInSvg(bytes.toString("utf8"), expected);
  }
}

function wrongInPdf(text: string, { widthPoints, heightPoints, pages = 1, pdfAPart }: Expected): string | null {
  if (!/^%PDF-[12]\.\d/.test(text)) return "no PDF signature";
  if (!/%%EOF\s*$/.test(text)) return "the PDF has no end";
  const count = /\/Type\s*\/Pages\s*\/Count (\d+)/.exec(text)?.[1] ?? "no";
  if (count !== String(pages)) return `the PDF has ${count} pages, not ${pages}`;
  if (!text.includes(`/MediaBox[0 0 ${widthPoints} ${heightPoints}]`)) return "the page has another size";
  const hasPart = pdfAPart === undefined || text.includes(`<pdfaid:part>${pdfAPart}<`);
  return hasPart ? null : `its metadata do not say PDF/A-${pdfAPart}`;
}

/** At 72 pixels per inch, where a point is a pixel. */
function wrongInPng(bytes: Buffer, { widthPoints, heightPoints }: Expected): string | null {
  if (bytes.length < 45 || !bytes.subarray(0, 8).equals(PNG_SIGNATURE)) return "no PNG signature";
  const size = `${bytes.readUInt32BE(16)}×${bytes.readUInt32BE(20)}`;
  if (size !== `${widthPoints}×${heightPoints}`) return `${size} pixels, not ${widthPoints}×${heightPoints}`;
  return bytes.subarray(-8, -4).toString("latin1") === "IEND" ? null : "the PNG has no end";
}

function wrongInSvg(text: string, { widthPoints, heightPoints }: Expected): string | null {
  if (!/^(?:<\?xml[^>]*>\s*)?<svg\s/.test(text)) return "no SVG at its start";
  const hasSize = text.slice(0, 1000).includes(`viewBox="0 0 ${widthPoints} ${heightPoints}"`);
  if (!hasSize) return "the image has another size";
  return text.trimEnd().endsWith("</svg>") ? null : "the SVG has no end";
}

/** The same for an archive, each of whose entries must be what is expected. */
export function wrongInArchive(bytes: Buffer, expected: Expected): string | null {
  let entries: Record<string, Uint8Array>;
  try {
    entries = unzipSync(bytes, { filter: ({ originalSize }) => originalSize <= MAX_ENTRY_BYTES });
  } catch {
    return "no ZIP that can be unpacked";
  }
  const wanted = Array.from({ length: expected.pages ?? 1 }, (_, index) => `page-0${index + 1}.${expected.type}`);
  const names = Object.keys(entries);
  if (names.join() !== wanted.join()) return `entries ${names.slice(0, 5).join(", ")}, not ${wanted.join(", ")}`;
  const wrongs = names.map((name) => ({ name, wrong: wrongIn(Buffer.from(entries[name] ?? []), expected) }));
  const first = wrongs.find(({ wrong }) => wrong !== null);
  return first === undefined ? null : `${first.name}: ${first.wrong}`;
}
