/**
 * The pages that Typst has written as files: checked against the limits, then packed into a ZIP, page by page, so that
 * only one small page or a few chunks of a large one are in memory.
 *
 * zlib compresses, on its thread pool. fflate only writes the container: its own compression blocks the event loop or
 * starts a thread for each large page, all at once (64 SVG pages of 700 KB took 17 to 43 s, 2026-11-24).
 */
import { type FileHandle, open } from "node:fs/promises";
import { join } from "node:path";
import { pipeline } from "node:stream/promises";
import { promisify } from "node:util";
import { crc32, createDeflateRaw, deflateRaw } from "node:zlib";
import { Zip, type ZipInputFile } from "fflate";
import type { Output } from "../../rules/output-options.ts";
import type { BackendSettings } from "../settings.ts";
import type { AppendResult } from "../typst/process.ts";
import { listOutputFiles } from "../work-directory/directory-tree.ts";
import { failByPageCount, failBySize, failBySpace, failWithoutPage, type RenderOutcome } from "./outcome.ts";
import type { TimeLimit } from "./render-time.ts";
import type { Spool } from "./spool.ts";
import { escapeSvg, SvgEscaper } from "./svg-escaping.ts";

type PageFile = Readonly<{ number: number; path: string }>;

/** With a fixed time, equal pages make equal archives. ZIP times are local. */
const MODIFIED = new Date(1980, 0, 1);
const MIN_DIGITS = 2;
/** The method number of DEFLATE in APPNOTE.TXT, section 4.4.5. */
const DEFLATE_METHOD = 8;
/** Level 0 only wraps. Some readers accept sizes that follow the bytes of an entry only if its method is DEFLATE. */
const DEFLATE_LEVELS = { png: 0, svg: 6 } as const;
/** A smaller page is read and compressed in one call each: two streams cost more than its compression. */
const READ_BYTES = 256 * 1024;

/** Compressed data is longer by at most 5 bytes for each block. zlib takes no chunk below 64 bytes. */
const DEFLATE_OVERHEAD_BYTES = 128;

const deflateAtOnce = promisify(deflateRaw);

interface PackOptions {
  readonly extension: keyof typeof DEFLATE_LEVELS;
  /** For all pages together, before compression. Escaping makes an SVG larger than Typst wrote it. */
  readonly maxPageBytes: number;
  readonly signal: AbortSignal;
}

export interface WrittenPages {
  /** Holds nothing else; each file is named by the number of its page. */
  readonly directory: string;
  readonly wanted: Output;
  readonly hasRoomFor: (bytes: number) => boolean;
}

export async function packArchive(
  settings: BackendSettings,
  { directory, wanted, hasRoomFor }: WrittenPages,
  archive: Spool,
  time: TimeLimit,
): Promise<RenderOutcome> {
  const { max_output_bytes: maxPageBytes, max_output_files } = settings.limits;
  const { names, areMore, bytes } = await listOutputFiles(directory, max_output_files);
  if (names.length === 0) return failWithoutPage(wanted);
  if (areMore) return failByPageCount(settings);
  if (bytes > maxPageBytes) return failBySize(bytes, settings);
  if (!hasRoomFor(bytes)) return failBySpace();
  const pages = names.map((name) => ({ number: Number(name), path: join(directory, name) }));
  const extension = wanted.format === "png" ? "png" : "svg";
  const { result, pageBytes } = await packPages(pages, archive, { extension, maxPageBytes, signal: time.over });
  switch (result) {
    case "kept":
      return { kind: "rendered", file: { output: archive, extension: "zip" } };
    case "too-large":
      return failBySize(Math.max(pageBytes, archive.size), settings);
    case "no-room":
      return failBySpace();
    case "stopped":
      return time.failure();
  }
}

/** The archive is complete only after `kept`. */
type PackResult = AppendResult | "stopped";

export async function packPages(
  pages: readonly PageFile[],
  archive: Spool,
  options: PackOptions,
): Promise<{ readonly result: PackResult; readonly pageBytes: number }> {
  const ordered = pages.toSorted((left, right) => left.number - right.number);
  const digits = Math.max(MIN_DIGITS, String(ordered.at(-1)?.number ?? 0).length);
  const packer = new Packer(archive, options);
  for (const { number, path } of ordered) {
    const result = await packer.add(`page-${String(number).padStart(digits, "0")}.${options.extension}`, path);
    if (result !== "kept") return { result, pageBytes: packer.pageBytes };
  }
  return { result: await packer.end(), pageBytes: packer.pageBytes };
}

class Packer {
  readonly #archive: Spool;
  readonly #options: PackOptions;
  pageBytes = 0;
  readonly #zip: Zip;
  readonly #buffer = Buffer.allocUnsafeSlow(READ_BYTES);
  readonly #pending: Uint8Array[] = [];

  constructor(archive: Spool, options: PackOptions) {
    this.#archive = archive;
    this.#options = options;
    this.#zip = new Zip((error, chunk) => {
      if (error !== null) throw error;
      this.#pending.push(chunk);
    });
  }

  async add(filename: string, path: string): Promise<PackResult> {
    const entry: ZipInputFile = { filename, size: 0, crc: 0, compression: DEFLATE_METHOD, mtime: MODIFIED };
    this.#zip.add(entry);
    const file = await open(path);
    let result: PackResult;
    try {
      const { bytesRead } = await file.read(this.#buffer, 0, READ_BYTES, 0);
      const whole = this.#buffer.subarray(0, bytesRead);
      result = bytesRead < READ_BYTES ? await this.#addWhole(whole, entry) : await this.#stream(file, entry);
    } finally {
      await file.close();
    }
    if (result !== "kept") return result;
    this.pageBytes += entry.size;
    if (this.pageBytes > this.#options.maxPageBytes) return "too-large";
    return this.#write(entry, new Uint8Array(0), true);
  }

  async #addWhole(page: Buffer, entry: ZipInputFile): Promise<PackResult> {
    const { extension, signal } = this.#options;
    if (signal.aborted) return "stopped";
    const escaper = new SvgEscaper();
    const content = extension === "svg" ? Buffer.concat([escaper.push(page), escaper.end()]) : page;
    measure(content, entry);
    // The whole output fits into one chunk. The default chunk would be far larger than a tiny page.
    const chunkSize = content.length + DEFLATE_OVERHEAD_BYTES;
    return this.#write(entry, await deflateAtOnce(content, { level: DEFLATE_LEVELS[extension], chunkSize }), false);
  }

  async #stream(file: FileHandle, entry: ZipInputFile): Promise<PackResult> {
    const { extension, signal } = this.#options;
    let result: AppendResult = "kept";
    try {
      await pipeline(
        file.createReadStream({ start: 0, highWaterMark: READ_BYTES }),
        (chunks: AsyncIterable<Buffer>) => measureEach(extension === "svg" ? escapeSvg(chunks) : chunks, entry),
        createDeflateRaw({ level: DEFLATE_LEVELS[extension], chunkSize: READ_BYTES }),
        async (chunks: AsyncIterable<Buffer<ArrayBuffer>>) => {
          for await (const { buffer, byteOffset, byteLength } of chunks) {
            result = await this.#write(entry, new Uint8Array(buffer, byteOffset, byteLength), false);
            if (result !== "kept") return;
          }
        },
        { signal },
      );
    } catch (error) {
      // A pipeline also fails when its last stage stops reading or its signal is aborted.
      if (signal.aborted) return "stopped";
      if (result === "kept") throw error;
    }
    return result;
  }

  #write(entry: ZipInputFile, compressed: Uint8Array<ArrayBuffer>, isLast: boolean): Promise<AppendResult> {
    entry.ondata?.(null, compressed, isLast);
    return this.#flush();
  }

  end(): Promise<AppendResult> {
    this.#zip.end();
    return this.#flush();
  }

  async #flush(): Promise<AppendResult> {
    for (const { buffer, byteOffset, byteLength } of this.#pending.splice(0)) {
      const result = await this.#archive.append(Buffer.from(buffer, byteOffset, byteLength));
      if (result !== "kept") return result;
    }
    return "kept";
  }
}

function measure(chunk: Buffer, entry: ZipInputFile): void {
  entry.size += chunk.length;
  entry.crc = crc32(chunk, entry.crc);
}

async function* measureEach(chunks: AsyncIterable<Buffer>, entry: ZipInputFile): AsyncGenerator<Buffer> {
  for await (const chunk of chunks) {
    measure(chunk, entry);
    yield chunk;
  }
}
