/** Says when a PDF is large because it shows an SVG on its pages: Typst 0.15.1 writes an SVG anew on each page, and other images once. */
import { printableLine } from "../terminal.ts";

const MIN_PDF_BYTES = 2 * 1024 ** 2;
/** Typst writes the tree of pages first, as one node. */
const PAGE_COUNT = /<<\/Type\/Pages\/Count (\d+)/;
const HEAD_BYTES = 200;

interface SentFile {
  readonly key: string;
  readonly bytes: Uint8Array;
}

/** A note, or none if the SVGs cannot be the reason: all of them on all pages would be smaller than the file. */
export function noteRepeatedSvg(pdf: Uint8Array | undefined, files: readonly SentFile[]): string[] {
  if (pdf === undefined || pdf.length < MIN_PDF_BYTES) return [];
  const [, pages] = PAGE_COUNT.exec(Buffer.from(pdf.subarray(0, HEAD_BYTES)).toString("latin1")) ?? [];
  const svgs = files.filter(({ key }) => key.toLowerCase().endsWith(".svg"));
  const [largest] = svgs.toSorted((left, right) => right.bytes.length - left.bytes.length);
  const svgBytes = svgs.reduce((sum, { bytes }) => sum + bytes.length, 0);
  if (largest === undefined || Number(pages ?? 0) < 2 || svgBytes * Number(pages) < pdf.length) return [];
  const size = `${(pdf.length / 1e6).toFixed(1)} MB`;
  return [
    printableLine(
      `the PDF has ${size}: Typst writes an SVG anew on each page that shows it, such as ${largest.key}. What is on many pages should be a PDF, or a PNG under PDF/A and PDF/UA.`,
    ),
  ];
}
