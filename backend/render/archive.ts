/**
 * ZIP archives of pages, packed page by page: what is in memory at any time is a few pieces of one page.
 *
 * DEFLATE runs on zlib's thread pool. fflate makes the container alone: its own compression starts a thread for every
 * large page at once, and compresses small ones on the event loop (64 SVG pages of 700 KB: 17 to 43 s, measured).
 */
import { createReadStream } from "node:fs";
import { pipeline } from "node:stream/promises";
import { crc32, createDeflateRaw } from "node:zlib";
import { Zip, type ZipInputFile } from "fflate";
import type { AppendResult, Spool } from "./spool.ts";
import { escapeSvg } from "./svg-escaping.ts";

/** A page as Typst has written it. */
export interface PageFile {
  /** Physical page number, from one. */
  readonly number: number;
  readonly path: string;
}

/** ZIP cannot say "no time"; its first day makes the same pages the same archive. Local, as ZIP times are. */
const MODIFIED = new Date(1980, 0, 1);
const MIN_DIGITS = 2;
/** The method number of DEFLATE in APPNOTE.TXT, section 4.4.5. */
const DEFLATE_METHOD = 8;
/**
 * PNG is compressed already, so its bytes are only wrapped. They are still an entry of DEFLATE: the sizes of an entry that
 * is packed as a stream follow its bytes, and some readers take that from compressed entries alone.
 */
const DEFLATE_LEVELS = { png: 0, svg: 6 } as const;
const READ_BYTES = 256 * 1024;

/**
 * Packs pages into `archive`, in the order of their numbers.
 *
 * @param maxPageBytes what all pages together may have: an SVG is larger here than as Typst has written it.
 * @param signal aborted when the archive is not wanted any more.
 * @throws where the machine fails.
 */
export async function packPages(
  pages: readonly PageFile[],
  extension: keyof typeof DEFLATE_LEVELS,
  archive: Spool,
  maxPageBytes: number,
  signal: AbortSignal,
): Promise<PackedPages> {
  const ordered = pages.toSorted((left, right) => left.number - right.number);
  const digits = Math.max(MIN_DIGITS, String(ordered.at(-1)?.number ?? 0).length);
  const packer = new Packer(archive, extension, maxPageBytes, signal);
  for (const { number, path } of ordered) {
    const result = await packer.add(`page-${String(number).padStart(digits, "0")}.${extension}`, path);
    if (result !== "kept") return { result, pageBytes: packer.pageBytes };
  }
  return { result: await packer.end(), pageBytes: packer.pageBytes };
}

export interface PackedPages {
  /** `stopped` where the signal was aborted; after any other than `kept` the archive is not whole. */
  readonly result: AppendResult | "stopped";
  /** Bytes of the pages packed, before compression. */
  readonly pageBytes: number;
}

class Packer {
  readonly #archive: Spool;
  readonly #level: number;
  readonly #isSvg: boolean;
  readonly #maxPageBytes: number;
  pageBytes = 0;
  readonly #signal: AbortSignal;
  readonly #zip: Zip;
  /** What the container has made and the archive has not taken yet. */
  readonly #made: Uint8Array[] = [];

  constructor(archive: Spool, extension: keyof typeof DEFLATE_LEVELS, maxPageBytes: number, signal: AbortSignal) {
    this.#archive = archive;
    this.#level = DEFLATE_LEVELS[extension];
    this.#isSvg = extension === "svg";
    this.#maxPageBytes = maxPageBytes;
    this.#signal = signal;
    this.#zip = new Zip((error, piece) => {
      if (error !== null) throw error;
      this.#made.push(piece);
    });
  }

  async add(filename: string, path: string): Promise<AppendResult | "stopped"> {
    const entry: ZipInputFile = { filename, size: 0, crc: 0, compression: DEFLATE_METHOD, mtime: MODIFIED };
    this.#zip.add(entry);
    let result: AppendResult = "kept";
    try {
      await pipeline(
        createReadStream(path, { highWaterMark: READ_BYTES }),
        (pieces: AsyncIterable<Buffer>) => measured(this.#isSvg ? escapeSvg(pieces) : pieces, entry),
        createDeflateRaw({ level: this.#level, chunkSize: READ_BYTES }),
        async (pieces: AsyncIterable<Buffer<ArrayBuffer>>) => {
          for await (const { buffer, byteOffset, byteLength } of pieces) {
            entry.ondata?.(null, new Uint8Array(buffer, byteOffset, byteLength), false);
            result = await this.#flush();
            if (result !== "kept") return;
          }
        },
        { signal: this.#signal },
      );
    } catch (error) {
      // A pipeline whose end stops taking, or whose signal is aborted, fails as if something had broken.
      if (this.#signal.aborted) return "stopped";
      if (result === "kept") throw error;
    }
    if (result !== "kept") return result;
    this.pageBytes += entry.size;
    if (this.pageBytes > this.#maxPageBytes) return "too-large";
    entry.ondata?.(null, new Uint8Array(0), true);
    return this.#flush();
  }

  end(): Promise<AppendResult> {
    this.#zip.end();
    return this.#flush();
  }

  async #flush(): Promise<AppendResult> {
    for (const { buffer, byteOffset, byteLength } of this.#made.splice(0)) {
      const result = await this.#archive.append(Buffer.from(buffer, byteOffset, byteLength));
      if (result !== "kept") return result;
    }
    return "kept";
  }
}

/** Passes pieces on, and counts them into the size and checksum of their entry. */
async function* measured(pieces: AsyncIterable<Buffer>, entry: ZipInputFile): AsyncGenerator<Buffer> {
  for await (const piece of pieces) {
    entry.size += piece.length;
    entry.crc = crc32(piece, entry.crc);
    yield piece;
  }
}
