/**
 * Cheap checks of rendered files: how they begin and end, the size of their pages and the number of pages.
 */
import { archiveEntries } from "../../typescript/archive-entries.ts";

export interface Expected {
  readonly type: keyof typeof FORMS;
  readonly widthPoints: number;
  readonly heightPoints: number;
  /** The number of pages of a PDF, or of entries of an archive. */
  readonly pages?: number;
  /** For a PDF: the part of PDF/A that its metadata claims. */
  readonly pdfAPart?: number;
}

interface Form {
  readonly start: string;
  readonly end: string;
  sizeOf(width: number, height: number): string;
}

/** Archives of the doctor's small pages have less. */
const ARCHIVE_BOUNDS = { maxEntries: 100, maxBytes: 1024 * 1024 };

/** How a file of each type begins and ends, and how it gives its size, read as Latin-1. */
const FORMS = {
  pdf: { start: "%PDF-", end: "%%EOF", sizeOf: (width, height) => `/MediaBox[0 0 ${width} ${height}]` },
  png: {
    start: "\x89PNG\r\n\x1a\n",
    end: "IEND\xaeB`\x82",
    sizeOf: (...pixels) => `IHDR${pixels.map(asUint32).join("")}`,
  },
  svg: { start: "<svg ", end: "</svg>", sizeOf: (width, height) => `viewBox="0 0 ${width} ${height}"` },
} satisfies Record<string, Form>;

/** A number of pixels below 256. The doctor renders PNG at 72 ppi, so a pixel is a point. */
function asUint32(pixels: number): string {
  return `\0\0\0${String.fromCharCode(pixels)}`;
}

export function wrongIn(bytes: Uint8Array, expected: Expected): string | null {
  const { type, widthPoints, heightPoints, pages = 1, pdfAPart } = expected;
  const text = Buffer.from(bytes).toString("latin1").trim();
  const { start, end, sizeOf } = FORMS[type];
  if (!text.startsWith(start)) return `it does not begin like a file of type ${type}`;
  if (!text.endsWith(end)) return `the ${type} is cut off`;
  if (!text.includes(sizeOf(widthPoints, heightPoints))) return `it is not ${widthPoints}×${heightPoints} points`;
  if (type !== "pdf") return null;
  const count = /\/Type\s*\/Pages\s*\/Count (\d+)/.exec(text)?.[1] ?? "no";
  if (count !== String(pages)) return `the PDF has ${count} pages, not ${pages}`;
  const isPart = pdfAPart === undefined || text.includes(`<pdfaid:part>${pdfAPart}<`);
  return isPart ? null : `its metadata does not claim PDF/A-${pdfAPart}`;
}

export function wrongInArchive(bytes: Buffer, expected: Expected): string | null {
  const entries = archiveEntries(bytes, ARCHIVE_BOUNDS, () => true);
  if (typeof entries === "string") return "the ZIP cannot be unpacked";
  const names = entries.map(({ name }) => name).join(", ");
  const wanted = Array.from({ length: expected.pages ?? 1 }, (_, index) => `page-0${index + 1}.${expected.type}`);
  if (names !== wanted.join(", ")) return `entries ${names}, not ${wanted.join(", ")}`;
  const wrongs = entries.map((entry) => wrongIn(entry.bytes, expected));
  return wrongs.find((wrong) => wrong !== null) ?? null;
}
