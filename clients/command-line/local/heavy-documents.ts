/**
 * What makes a document large, slow or hungry for memory: images that grow in a PDF, and what a render of the service
 * has by default. Figures: Typst 0.15.1.
 */
import { readFileSync } from "node:fs";
import { DEFAULT_RENDER_USE } from "../../../rules/render-time.ts";
import { sizeInWords } from "../../document/size-in-words.ts";
import { printableLine } from "../terminal.ts";

const GUIDE = "/help/templates#documents-that-grow of the service says what grows, and what to do.";
const MIN_PDF_BYTES = 2 * 1024 ** 2;
/** A smaller picture is none that matters. */
const MIN_PICTURE_BYTES = 100_000;
/** Typst writes the tree of pages first, as one node. */
const PAGE_COUNT = /<<\/Type\/Pages\/Count (\d+)/;
const HEAD_BYTES = 200;

interface SentFile {
  readonly key: string;
  readonly bytes: Uint8Array;
}

/** @param pdf undefined if there is none, since it was too large or took too long @returns notes on images that may be the reason */
export function noteHeavyImages(pdf: Uint8Array | undefined, files: readonly SentFile[]): string[] {
  if (pdf !== undefined && pdf.length < MIN_PDF_BYTES) return [];
  const guide = pdf === undefined ? [GUIDE] : [];
  return [...noteRepeatedSvg(pdf, files), ...notePictures(pdf, files), ...guide].map(printableLine);
}

/** None if the SVGs cannot be the reason: all of them on all pages would be smaller than the file. */
function noteRepeatedSvg(pdf: Uint8Array | undefined, files: readonly SentFile[]): string[] {
  const svgs = files.filter(({ key }) => key.toLowerCase().endsWith(".svg"));
  const [largest] = largestFirst(svgs);
  if (largest === undefined) return [];
  if (pdf !== undefined) {
    const [, pages] = PAGE_COUNT.exec(Buffer.from(pdf.subarray(0, HEAD_BYTES)).toString("latin1")) ?? [];
    if (Number(pages ?? 0) < 2 || bytesOf(svgs) * Number(pages) < pdf.length) return [];
  } else if (largest.bytes.length < MIN_REPEATED_BYTES) return [];
  return [
    `${sizeOf(pdf)}Typst writes an SVG anew on each page that shows it, such as ${largest.key}. What is on many pages should be a PDF, or a PNG under PDF/A and PDF/UA.`,
  ];
}

/** Of an SVG in a document that is not made: a smaller one takes no seconds on some hundred pages. */
const MIN_REPEATED_BYTES = 10_000;

function notePictures(pdf: Uint8Array | undefined, files: readonly SentFile[]): string[] {
  const pictures = files.filter(
    ({ key, bytes }) => /\.(?:png|webp)$/i.test(key) && bytes.length > MIN_PICTURE_BYTES / 10,
  );
  const [largest] = largestFirst(pictures);
  const isReason = pdf === undefined || bytesOf(files) * 2 < pdf.length;
  if (largest === undefined || !isReason || bytesOf(pictures) < MIN_PICTURE_BYTES) return [];
  return [
    `${sizeOf(pdf)}a photograph grows in it: two to four times as a PNG, more than fifty times as a WebP, not at all as a JPEG. The largest is ${largest.key}.`,
  ];
}

function sizeOf(pdf: Uint8Array | undefined): string {
  return pdf === undefined ? "the PDF: " : `the PDF has ${(pdf.length / 1e6).toFixed(1)} MB: `;
}

function largestFirst(files: readonly SentFile[]): readonly SentFile[] {
  return files.toSorted((left, right) => right.bytes.length - left.bytes.length);
}

function bytesOf(files: readonly SentFile[]): number {
  return files.reduce((sum, { bytes }) => sum + bytes.length, 0);
}

/** What a run of Typst has taken; null if nobody could see it. */
export interface TypstUse {
  readonly memoryBytes: number;
  readonly cpuSeconds: number;
}

const USE_INTERVAL_MILLISECONDS = 50;
const TICKS_PER_SECOND = 100;

/** Looks at a process where the system has /proc. @returns what ends that, and says what it has taken */
export function watchUse(pid: number | undefined): () => TypstUse | null {
  let use: TypstUse | null = null;
  const look = () => {
    try {
      const kibibytes = /^VmHWM:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1];
      const fields = readFileSync(`/proc/${pid}/stat`, "utf8")
        .replace(/^.*\) /s, "")
        .split(" ");
      const ticks = Number(fields[11]) + Number(fields[12]);
      if (kibibytes !== undefined)
        use = { memoryBytes: Number(kibibytes) * 1024, cpuSeconds: ticks / TICKS_PER_SECOND };
    } catch {
      // The process has ended, or this is no Linux.
    }
  };
  const timer = setInterval(look, USE_INTERVAL_MILLISECONDS);
  return () => {
    clearInterval(timer);
    return use;
  };
}

/** Sentences on what a render of the service does not have by default. @param images of the output, if it has a ppi */
export function warnOfUse(use: TypstUse | null, ppi: number | null, images: readonly Buffer[]): string[] {
  if (use === null) return [];
  const warnings: string[] = [];
  const { memoryBytes, cpuSeconds } = DEFAULT_RENDER_USE;
  if (use.memoryBytes > memoryBytes) {
    const advice = ppi === null ? "" : adviseOnPixels(ppi, use.memoryBytes, images);
    warnings.push(
      `Typst took ${sizeInWords(use.memoryBytes)} of memory, and a render of the service has ${sizeInWords(memoryBytes)} unless its operator gives it more: ${advice}${GUIDE}`,
    );
  }
  if (use.cpuSeconds > cpuSeconds) {
    warnings.push(
      `Typst took ${Math.round(use.cpuSeconds)} s of processor time, and a thread of a render of the service has ${cpuSeconds} s unless its operator gives it more: ${GUIDE}`,
    );
  }
  return warnings;
}

/** Of PNG: width and height are at the same place in each. */
function adviseOnPixels(ppi: number, takenBytes: number, images: readonly Buffer[]): string {
  const [largest] = images
    .map((png) => ({ width: png.readUInt32BE(16), height: png.readUInt32BE(20) }))
    .toSorted((left, right) => right.width * right.height - left.width * left.height);
  if (largest === undefined) return "";
  const fitting = Math.floor(ppi * Math.sqrt(DEFAULT_RENDER_USE.memoryBytes / takenBytes) * 0.9);
  return `the largest page has ${largest.width} × ${largest.height} pixels, and ppi ${fitting} would fit; `;
}
