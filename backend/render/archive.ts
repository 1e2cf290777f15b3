/**
 * The pages that Typst has written as files: checked against the limits, then packed into a ZIP, page by page, so that
 * only a few small pages or a few chunks of a large one are in memory.
 *
 * A PNG is compressed already, so it is stored. Its size and checksum are before it: programs that read an archive from its
 * beginning, such as Java's `ZipInputStream`, refuse stored entries that say them afterwards. So a large one is read twice.
 * An SVG is compressed by zlib, on the thread pool of Node: several small ones at once, where the render has threads for that.
 */
import { type FileHandle, open } from "node:fs/promises";
import { join } from "node:path";
import { pipeline } from "node:stream/promises";
import { promisify } from "node:util";
import { crc32, createDeflateRaw, deflateRaw } from "node:zlib";
import type { Output } from "../../rules/output-options.ts";
import { DEFLATE_LEVEL, entryName } from "../../typst/archive-layout.ts";
import { judgeCompilation } from "../../typst/compile-verdict.ts";
import { completePieces, completeWhole, completionOf } from "../../typst/output-completion.ts";
import {
  centralDirectory,
  DEFLATED,
  dataDescriptor,
  type EntryContent,
  localHeader,
  NOT_YET_KNOWN,
  STORED,
  type ZipEntry,
  type ZipMethod,
} from "../../typst/zip-records.ts";
import type { AppendResult, PageLimits } from "../compiler/process.ts";
import type { BackendSettings } from "../settings.ts";
import { listOutputFiles } from "../work-directory/directory-tree.ts";
import { failureOfStop, type RenderOutcome, refuse } from "./outcome.ts";
import type { TimeLimit } from "./render-time.ts";
import { MAX_MEMORY_BYTES_PER_OUTPUT, type Spool } from "./spool.ts";

type PageFile = Readonly<{ number: number; path: string }>;

/** Threads of Node's pool: more pages at once would only keep the files of other renders waiting. */
const MAX_AT_ONCE = 4;
/** A smaller SVG is read and compressed in one call each: two streams cost more than its compression. */
const SMALL_SVG_BYTES = 1024 ** 2;
/**
 * A smaller PNG is read in one call, and only once. Its buffer serves the next page as well, because a spool copies what it
 * keeps of so large a one.
 */
const READ_BYTES = { png: 2 * MAX_MEMORY_BYTES_PER_OUTPUT, svg: 256 * 1024 } as const;

/** Compressed data is longer by at most 5 bytes for each block. zlib takes no chunk below 64 bytes. */
const DEFLATE_OVERHEAD_BYTES = 128;

const deflateAtOnce = promisify(deflateRaw);

interface PackOptions {
  readonly wanted: Output;
  /** For all pages together, before compression. They are larger than Typst wrote them. */
  readonly maxPageBytes: number;
  readonly threads: number;
  readonly signal: AbortSignal;
}

export interface WrittenPages {
  /** Holds nothing else; each file is named by the number of its page. */
  readonly directory: string;
  readonly wanted: Output;
  readonly admit: PageLimits["admit"];
  /** The render's threads, which Typst no longer uses. */
  readonly threads: number;
}

export async function packArchive(
  settings: BackendSettings,
  { directory, wanted, admit, threads }: WrittenPages,
  archive: Spool,
  time: TimeLimit,
): Promise<RenderOutcome> {
  const { limits } = settings;
  const { names, areMore, bytes } = await listOutputFiles(directory, limits.max_output_files);
  const written = { exitCode: 0, outputBytes: bytes, pageCount: names.length + Number(areMore), standards: null };
  const verdict = judgeCompilation(written, wanted, limits);
  if (verdict.kind === "problem") return refuse(verdict.problem);
  const accepted = admit(bytes);
  if (accepted !== "kept") return failureOfStop(accepted, bytes, settings, time);
  const maxPageBytes = limits.max_output_bytes;
  const pages = names.map((name) => ({ number: Number(name), path: join(directory, name) }));
  const { result, pageBytes } = await packPages(pages, archive, { wanted, maxPageBytes, threads, signal: time.over });
  if (result !== "kept") return failureOfStop(result, Math.max(pageBytes, archive.size), settings, time);
  return { kind: "rendered", file: archive, output: wanted };
}

/** The archive is complete only after `kept`. */
type PackResult = AppendResult | "over";

export async function packPages(
  pages: readonly PageFile[],
  archive: Spool,
  options: PackOptions,
): Promise<{ readonly result: PackResult; readonly pageBytes: number }> {
  const ordered = pages.toSorted((left, right) => left.number - right.number);
  const highest = ordered.at(-1)?.number ?? 0;
  const packer = new Packer(archive, options);
  const atOnce = Math.min(options.threads, MAX_AT_ONCE);
  for await (const [{ number, path }, ready] of inOrder(ordered, atOnce, (page) => packer.prepare(page))) {
    const name = entryName(number, highest, options.wanted.format);
    const result = await (ready === null ? packer.add(name, path) : packer.addDeflated(name, ready));
    if (result !== "kept") return { result, pageBytes: packer.pageBytes };
  }
  return { result: await packer.end(), pageBytes: packer.pageBytes };
}

/** Each item with the result of its work, of which up to `atOnce` are under way. Leaves none behind. */
async function* inOrder<Item, Result>(items: readonly Item[], atOnce: number, work: (item: Item) => Promise<Result>) {
  const underWay: Promise<readonly [Item, Result]>[] = [];
  try {
    for (const item of items) {
      const one = work(item).then((result) => [item, result] as const);
      // A page may fail before its turn; the failure is reported in its turn.
      one.catch(() => {});
      underWay.push(one);
      if (underWay.length >= atOnce) yield* underWay.splice(0, 1);
    }
    while (underWay.length > 0) yield* underWay.splice(0, 1);
  } finally {
    await Promise.allSettled(underWay);
  }
}

interface Deflated {
  readonly packed: Buffer;
  readonly content: EntryContent;
}

class Packer {
  readonly #archive: Spool;
  readonly #options: PackOptions;
  readonly #entries: ZipEntry[] = [];
  readonly #buffer: Buffer;
  pageBytes = 0;

  constructor(archive: Spool, options: PackOptions) {
    this.#archive = archive;
    this.#options = options;
    this.#buffer = Buffer.allocUnsafeSlow(READ_BYTES[options.wanted.format === "png" ? "png" : "svg"]);
  }

  /** Compresses a small SVG, which may be done beside others. Null for all other pages. */
  async prepare({ path }: PageFile): Promise<Deflated | null> {
    const { wanted, signal } = this.#options;
    if (wanted.format !== "svg" || signal.aborted) return null;
    const whole = await readSmallFile(path);
    if (whole === null) return null;
    const page = new Measure();
    const svg = completeWhole(wanted, whole);
    page.add(svg);
    // The whole output fits into one chunk. The default chunk would be far larger than a tiny page.
    const packed = await deflateAtOnce(svg, { level: DEFLATE_LEVEL, chunkSize: svg.length + DEFLATE_OVERHEAD_BYTES });
    return { packed, content: { ...page, packedBytes: packed.length } };
  }

  async addDeflated(name: string, { packed, content }: Deflated): Promise<PackResult> {
    if (this.#options.signal.aborted) return "over";
    if (!this.#list(name, DEFLATED, content)) return "too-large";
    return this.#archive.append(localHeader(name, DEFLATED, NOT_YET_KNOWN), packed, dataDescriptor(content));
  }

  async add(name: string, path: string): Promise<PackResult> {
    if (this.#options.signal.aborted) return "over";
    const file = await open(path);
    try {
      return this.#options.wanted.format === "png" ? await this.#store(name, file) : await this.#deflate(name, file);
    } finally {
      await file.close();
    }
  }

  end(): Promise<AppendResult> {
    return this.#archive.append(centralDirectory(this.#entries, this.#archive.size));
  }

  async #store(name: string, file: FileHandle): Promise<PackResult> {
    const { wanted, signal } = this.#options;
    const beginning = await this.#readAt(file, 0);
    const page = new Measure();
    const pieces = this.#isLast(beginning) ? completePieces(wanted, beginning) : this.#read(file);
    for await (const piece of pieces) {
      if (signal.aborted) return "over";
      page.add(piece);
    }
    const content = { ...page, packedBytes: page.bytes };
    if (!this.#list(name, STORED, content)) return "too-large";
    const header = localHeader(name, STORED, content);
    if (Array.isArray(pieces)) return this.#archive.append(header, ...pieces);
    let result = await this.#archive.append(header);
    for await (const piece of this.#read(file)) {
      if (result !== "kept") return result;
      if (signal.aborted) return "over";
      result = await this.#archive.append(piece);
    }
    return result;
  }

  async #deflate(name: string, file: FileHandle): Promise<PackResult> {
    const { signal } = this.#options;
    const page = new Measure();
    let packedBytes = 0;
    const offset = this.#archive.size;
    let result = await this.#archive.append(localHeader(name, DEFLATED, NOT_YET_KNOWN));
    try {
      await pipeline(
        this.#read(file),
        (chunks: AsyncIterable<Buffer>) => page.addEach(chunks),
        createDeflateRaw({ level: DEFLATE_LEVEL, chunkSize: READ_BYTES.svg }),
        async (chunks: AsyncIterable<Buffer>) => {
          for await (const chunk of chunks) {
            packedBytes += chunk.length;
            result = await this.#archive.append(chunk);
            if (result !== "kept") return;
          }
        },
        { signal },
      );
    } catch (error) {
      // A pipeline also fails when its last stage stops reading or its signal is aborted.
      if (signal.aborted) return "over";
      if (result === "kept") throw error;
    }
    if (result !== "kept") return result;
    const content = { ...page, packedBytes };
    return this.#list(name, DEFLATED, content, offset) ? this.#archive.append(dataDescriptor(content)) : "too-large";
  }

  /** The page as it is delivered. A piece of a PNG is valid until the next one. */
  async *#read(file: FileHandle): AsyncGenerator<Buffer, void, void> {
    const completion = completionOf(this.#options.wanted);
    let position = 0;
    let chunk: Buffer;
    do {
      chunk = await this.#readAt(file, position);
      position += chunk.length;
      yield* completion.push(chunk);
    } while (!this.#isLast(chunk));
    yield* completion.end();
  }

  async #readAt(file: FileHandle, position: number): Promise<Buffer> {
    return this.#buffer.subarray(0, await readFully(file, this.#buffer, position));
  }

  /** Whether the file ends with this chunk. */
  #isLast(chunk: Buffer): boolean {
    return chunk.length < this.#buffer.length;
  }

  /** Puts an entry into the directory. @returns whether all pages up to it may be delivered */
  #list(name: string, method: ZipMethod, content: EntryContent, offset = this.#archive.size): boolean {
    this.#entries.push({ name, method, offset, ...content });
    this.pageBytes += content.bytes;
    return this.pageBytes <= this.#options.maxPageBytes;
  }
}

/** Null if it is larger. */
async function readSmallFile(path: string): Promise<Buffer | null> {
  const file = await open(path);
  try {
    const { size } = await file.stat();
    if (size > SMALL_SVG_BYTES) return null;
    const buffer = Buffer.allocUnsafeSlow(size);
    return buffer.subarray(0, await readFully(file, buffer, 0));
  } finally {
    await file.close();
  }
}

/** Fills the buffer, because one read may give less. @returns how many bytes: fewer only at the file's end */
async function readFully(file: FileHandle, buffer: Buffer, position: number): Promise<number> {
  let size = 0;
  for (let bytesRead = 1; bytesRead > 0 && size < buffer.length; size += bytesRead) {
    ({ bytesRead } = await file.read(buffer, size, buffer.length - size, position + size));
  }
  return size;
}

class Measure {
  bytes = 0;
  crc = 0;

  add(chunk: Buffer): void {
    this.bytes += chunk.length;
    this.crc = crc32(chunk, this.crc);
  }

  async *addEach(chunks: AsyncIterable<Buffer>): AsyncGenerator<Buffer, void, void> {
    for await (const chunk of chunks) {
      this.add(chunk);
      yield chunk;
    }
  }
}
