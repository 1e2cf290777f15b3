/**
 * ZIP archives of pages.
 */
import { promisify } from "node:util";
import { type AsyncZippable, zip } from "fflate";

export interface Page {
  /** Physical page number, from one. */
  readonly number: number;
  readonly bytes: Uint8Array;
}

const zipAsync = promisify<AsyncZippable, Uint8Array>(zip);

/** ZIP cannot say "no time"; its first day makes the same pages the same archive. Local, as ZIP times are. */
const MODIFIED = new Date(1980, 0, 1);
const MIN_DIGITS = 2;

/** Packs pages in the order of their numbers. PNG is compressed already and is stored as it is. */
export function packPages(pages: readonly Page[], extension: "png" | "svg"): Promise<Uint8Array> {
  const ordered = pages.toSorted((left, right) => left.number - right.number);
  const digits = Math.max(MIN_DIGITS, String(ordered.at(-1)?.number ?? 0).length);
  const entries = ordered.map(({ number, bytes }) => {
    const name = `page-${String(number).padStart(digits, "0")}.${extension}`;
    return [name, [bytes, { level: extension === "png" ? 0 : 6, mtime: MODIFIED }]] as const;
  });
  return zipAsync(Object.fromEntries(entries) as AsyncZippable);
}
