/** Reads the entries of a ZIP that others have made, within bounds: what it says of its own sizes is not believed. */
import { Unzip, type UnzipFile, UnzipInflate } from "fflate";
import { isWholeFile } from "../../protocol/whole-file.ts";
import { joinBytes } from "../typescript/join-bytes.ts";

export interface ArchiveBounds {
  readonly maxEntries: number;
  /** For all entries together, unpacked. */
  readonly maxBytes: number;
}

export interface ArchiveEntry {
  readonly name: string;
  readonly bytes: Uint8Array<ArrayBuffer>;
}

export type ArchiveFault = "broken" | "too many entries" | "too large";

/** Deflate expands its input at most about a thousand times: a chunk to some 16 MiB, before the bytes are counted. */
const CHUNK_BYTES = 16 * 1024;
/** Unwanted ones count too: the time that fflate needs for each grows with their number, to 10 µs at this one. */
const MAX_ENTRIES_OF_ANY_KIND = 20_000;

/** @param isWanted whether to read an entry; `maxEntries` counts only these */
export function archiveEntries(
  archive: Uint8Array,
  { maxEntries, maxBytes }: ArchiveBounds,
  isWanted: (name: string) => boolean,
): ArchiveEntry[] | ArchiveFault {
  const entries: { readonly name: string; readonly chunks: Uint8Array[] }[] = [];
  let unpackedBytes = 0;
  let isBroken = false;
  let count = 0;
  const isFull = () => entries.length > maxEntries || count > MAX_ENTRIES_OF_ANY_KIND;
  const add = (file: UnzipFile) => {
    count++;
    if (isFull() || !isWanted(file.name)) return;
    const chunks: Uint8Array[] = [];
    entries.push({ name: file.name, chunks });
    file.ondata = (error, chunk) => {
      if (error !== null) isBroken = true;
      unpackedBytes += chunk?.length ?? 0;
      if (chunk && unpackedBytes <= maxBytes) chunks.push(chunk.slice());
    };
    file.start();
  };
  try {
    const unzip = new Unzip(add);
    unzip.register(UnzipInflate);
    for (let at = 0; at < archive.length && !isBroken; at += CHUNK_BYTES) {
      unzip.push(archive.subarray(at, at + CHUNK_BYTES), at + CHUNK_BYTES >= archive.length);
      if (isFull()) return "too many entries";
      if (unpackedBytes > maxBytes) return "too large";
    }
  } catch {
    isBroken = true;
  }
  return isBroken || entries.length === 0 || !isWholeFile("zip", archive)
    ? "broken"
    : entries.map(({ name, chunks }) => ({ name, bytes: joinBytes(chunks) }));
}
