/**
 * A reader of ZIP archives that shares no code with the service: it reads the central directory, inflates with zlib
 * and checks each checksum.
 */
import { crc32, inflateRawSync } from "node:zlib";

export type ZipEntry = { readonly name: string } & ReturnType<typeof readEntry>;

const END_SIGNATURE = 0x06054b50;
const END_SIZE = 22;
const CENTRAL_SIGNATURE = 0x02014b50;
const CENTRAL_SIZE = 46;
const LOCAL_SIGNATURE = 0x04034b50;
const LOCAL_SIZE = 30;
const STORED = 0;

/** The entries of an archive in the order of its central directory. */
export function readZip(archive: Buffer): ZipEntry[] {
  // The service writes no archive comment, so the end record is the last 22 bytes.
  const end = archive.length - END_SIZE;
  if (archive.readUInt32LE(end) !== END_SIGNATURE) throw new Error("the archive has no end record");
  const count = archive.readUInt16LE(end + 10);
  let position = archive.readUInt32LE(end + 16);
  const entries: ZipEntry[] = [];
  for (let index = 0; index < count; index++) {
    if (archive.readUInt32LE(position) !== CENTRAL_SIGNATURE) throw new Error("the central directory is broken");
    const nameEnd = position + CENTRAL_SIZE + archive.readUInt16LE(position + 28);
    const name = archive.toString("utf8", position + CENTRAL_SIZE, nameEnd);
    entries.push({ name, ...readEntry(archive, position) });
    position = nameEnd + archive.readUInt16LE(position + 30) + archive.readUInt16LE(position + 32);
  }
  if (position !== end) throw new Error("the central directory does not end where the end record begins");
  return entries;
}

/** @returns `packedBytes`, the compressed size without headers */
function readEntry(archive: Buffer, central: number) {
  const isCompressed = archive.readUInt16LE(central + 10) !== STORED;
  const checksum = archive.readUInt32LE(central + 16);
  const compressedSize = archive.readUInt32LE(central + 20);
  const size = archive.readUInt32LE(central + 24);
  const local = archive.readUInt32LE(central + 42);
  if (archive.readUInt32LE(local) !== LOCAL_SIGNATURE) throw new Error("an entry has no local header");
  const timeAndDate = archive.readUInt32LE(central + 12);
  if (archive.readUInt32LE(local + 10) !== timeAndDate) throw new Error("an entry has two times");
  const start = local + LOCAL_SIZE + archive.readUInt16LE(local + 26) + archive.readUInt16LE(local + 28);
  const packed = archive.subarray(start, start + compressedSize);
  const bytes = isCompressed ? inflateWhole(packed) : packed;
  if (bytes.length !== size || crc32(bytes) !== checksum) throw new Error("an entry is damaged");
  return { bytes, packedBytes: packed.length };
}

/** The content of a DEFLATE stream, after whose end nothing may follow. */
function inflateWhole(packed: Buffer): Buffer {
  const inflated: unknown = inflateRawSync(packed, { info: true });
  if (!isInflated(inflated)) throw new Error("zlib does not say how much it has read");
  if (inflated.engine.bytesWritten !== packed.length) throw new Error("an entry has bytes after its end");
  return inflated.buffer;
}

/** What zlib returns with `info`, which its types do not know. */
function isInflated(value: unknown): value is { buffer: Buffer; engine: { bytesWritten: number } } {
  return typeof value === "object" && value !== null && "buffer" in value && "engine" in value;
}
