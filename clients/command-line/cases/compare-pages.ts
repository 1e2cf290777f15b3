/**
 * Compares the pages of a document with the expected ones, pixel by pixel. On another kind of processor, Typst changes
 * the shade of an edge by less than `OTHER_PROCESSOR_TOLERANCE`. A change that people see may be as small, so a tolerance
 * is asked for, not assumed.
 */
import pixelmatch from "pixelmatch";
import { PNG } from "pngjs";

/** As pixelmatch measures it: from 0 (the same colour) to 1 (black and white). */
const OTHER_PROCESSOR_TOLERANCE = 0.1;

export interface PageDifference {
  /** Counted from one. */
  readonly page: number;
  readonly message: string;
  /** The pages as PNG; null if there is none. */
  readonly before: Buffer | null;
  readonly after: Buffer | null;
  readonly difference: Buffer | null;
}

/**
 * @param before null for a page that is missing in the folder
 * @param tolerance by how much the colour of a pixel may differ, from 0 to 1
 */
export function comparePages(
  before: readonly (Buffer | null)[],
  after: readonly Buffer[],
  tolerance: number,
): PageDifference[] {
  const count = Math.max(before.length, after.length);
  const compare = (_: unknown, index: number) =>
    comparePage(index + 1, before[index] ?? null, after[index] ?? null, tolerance);
  return Array.from({ length: count }, compare).filter((difference) => difference !== null);
}

function comparePage(
  page: number,
  before: Buffer | null,
  after: Buffer | null,
  tolerance: number,
): PageDifference | null {
  const report = (message: string, difference: Buffer | null = null) => ({
    page,
    message,
    before,
    after,
    difference,
  });
  if (after === null) return report(`Page ${page} is expected, but the document ends before it.`);
  if (before === null) return report(`Page ${page} is not expected.`);
  if (before.equals(after)) return null;
  const now = imageOf(after);
  if (now === null) return report(`Page ${page} is not a PNG.`);
  const { width, height } = now;
  // This comes before the page is unpacked: a small file may claim any number of pixels.
  const size = sizeOf(before);
  if (size !== null && (size.width !== width || size.height !== height)) {
    return report(
      `Page ${page} has ${width} × ${height} pixels, not ${size.width} × ${size.height}: has the page size or --ppi changed?`,
    );
  }
  const old = size === null ? null : imageOf(before);
  if (old === null) {
    return report(`The expected page ${page} is not a PNG as Typst writes it: run the command with --update.`);
  }
  const picture = new PNG({ width, height });
  const countPixels = (threshold: number, drawn?: Buffer) =>
    pixelmatch(old.data, now.data, drawn, width, height, { threshold, includeAA: true });
  const pixels = countPixels(tolerance, picture.data);
  if (pixels === 0) return null;
  const share = (100 * pixels) / (width * height);
  const shown = share < 0.01 ? "less than 0.01" : share.toFixed(2);
  const hint =
    countPixels(OTHER_PROCESSOR_TOLERANCE) === 0
      ? ` All are faint: --tolerance ${OTHER_PROCESSOR_TOLERANCE} is for another kind of processor.`
      : "";
  return report(`Page ${page} differs in ${pixels} pixels, ${shown} % of it.${hint}`, PNG.sync.write(picture));
}

/** The size in the header of a PNG; null without one, or if it is interlaced, which the reader unpacks to any size. */
function sizeOf(bytes: Buffer) {
  const isPng =
    bytes.length > 28 &&
    bytes.toString("latin1", 1, 4) === "PNG" &&
    bytes.toString("latin1", 12, 16) === "IHDR" &&
    bytes[28] === 0;
  return isPng ? { width: bytes.readUInt32BE(16), height: bytes.readUInt32BE(20) } : null;
}

function imageOf(bytes: Buffer): PNG | null {
  try {
    return PNG.sync.read(bytes);
  } catch {
    return null;
  }
}
