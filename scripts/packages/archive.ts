/**
 * Unpacks the archive of a Typst package (`.tar.gz`) in memory and refuses whatever a package does not need: links,
 * devices, names that lead out of the package, and more or larger files than packages have.
 *
 * Nothing is written here, so a refused archive leaves nothing behind.
 */
import { promisify } from "node:util";
import { gunzip } from "node:zlib";
import { type ParsedTarEntryWithData, unpackTar } from "modern-tar";
import { VendoringError } from "../vendoring/vendoring-error.ts";

export interface ArchiveLimits {
  /** Bytes of the archive as it is downloaded. */
  readonly maxArchiveBytes: number;
  /** Bytes of the archive when it is decompressed, headers and padding included. */
  readonly maxUnpackedBytes: number;
  readonly maxFiles: number;
  /** UTF-8 bytes of a path in the package. */
  readonly maxPathBytes: number;
  /** Folders and the file's own name. */
  readonly maxPathSegments: number;
}

/** Several times what the largest packages of Typst Universe need, which bring fonts and WebAssembly. */
export const ARCHIVE_LIMITS: ArchiveLimits = {
  maxArchiveBytes: 64 * 1024 ** 2,
  maxUnpackedBytes: 128 * 1024 ** 2,
  maxFiles: 5000,
  maxPathBytes: 512,
  maxPathSegments: 16,
};

/** The longest name of a file or folder on the usual file systems (NAME_MAX). */
const MAX_SEGMENT_BYTES = 255;

/** The files of a package by their paths, which are relative, with `/`. */
export type PackageFiles = ReadonlyMap<string, Uint8Array>;

const decompress = promisify(gunzip);

/**
 * The files of an archive.
 *
 * @param title names the archive in errors.
 * @throws VendoringError if it is refused.
 */
export async function unpackArchive(title: string, archive: Uint8Array, limits: ArchiveLimits): Promise<PackageFiles> {
  const refuse = (reason: string) => new VendoringError(`${title} is refused: ${reason}.`);
  if (archive.length > limits.maxArchiveBytes) throw refuse(`the archive has over ${limits.maxArchiveBytes} bytes`);
  const tar = await decompress(archive, { maxOutputLength: limits.maxUnpackedBytes }).catch(
    (error: NodeJS.ErrnoException) => {
      if (error.code === "ERR_BUFFER_TOO_LARGE") throw refuse(`it unpacks to over ${limits.maxUnpackedBytes} bytes`);
      throw refuse("it is not compressed with gzip, or is damaged");
    },
  );
  const files = new PackageTree(limits);
  for (const entry of await readEntries(tar, limits)) {
    const reason = files.add(entry);
    if (reason !== null) throw refuse(reason);
  }
  return files.files;

  async function readEntries(bytes: Uint8Array, { maxFiles }: ArchiveLimits): Promise<ParsedTarEntryWithData[]> {
    let count = 0;
    // Folders count as well: they are made, too. Counted while reading, because each entry costs far more than its
    // header.
    const filter = () => {
      count++;
      if (count > maxFiles) throw refuse(`it has over ${maxFiles} files and folders`);
      return true;
    };
    try {
      return await unpackTar(bytes, { strict: true, filter });
    } catch (error) {
      throw error instanceof VendoringError ? error : refuse("it is not a tar archive, or is damaged");
    }
  }
}

/** The files so far. Names are compared without case, because file systems may do so. */
class PackageTree {
  readonly files = new Map<string, Uint8Array>();
  readonly #limits: ArchiveLimits;
  readonly #fileKeys = new Set<string>();
  readonly #folderKeys = new Set<string>();

  constructor(limits: ArchiveLimits) {
    this.#limits = limits;
  }

  /** Adds an entry. @returns why it is refused, or null. */
  add({ header, data }: ParsedTarEntryWithData): string | null {
    const type = header.type ?? "file";
    if (type !== "file" && type !== "directory") return `it has an entry of the type ${type}`;
    const path = relativePath(header.name, type);
    if (path === null) return type === "directory" && isRoot(header.name) ? null : "a name leads out of the package";
    const reason = this.#refusalOfName(path);
    if (reason !== null) return reason;
    const segments = keyOf(path).split("/");
    const ancestors = segments.slice(0, -1).map((_, index) => segments.slice(0, index + 1).join("/"));
    if (ancestors.some((ancestor) => this.#fileKeys.has(ancestor))) return "a file is the folder of another entry";
    for (const ancestor of ancestors) this.#folderKeys.add(ancestor);
    const key = segments.join("/");
    if (this.#fileKeys.has(key)) return "two entries have the same name";
    if (type === "directory") {
      this.#folderKeys.add(key);
      return null;
    }
    if (this.#folderKeys.has(key)) return "a file has the name of a folder";
    this.#fileKeys.add(key);
    this.files.set(path, data ?? new Uint8Array());
    return null;
  }

  #refusalOfName(path: string): string | null {
    const { maxPathBytes, maxPathSegments } = this.#limits;
    if (Buffer.byteLength(path) > maxPathBytes) return `a name has over ${maxPathBytes} bytes`;
    const segments = path.split("/");
    if (segments.length > maxPathSegments) return `a name has over ${maxPathSegments} parts`;
    if (segments.some((segment) => Buffer.byteLength(segment) > MAX_SEGMENT_BYTES)) {
      return `a part of a name has over ${MAX_SEGMENT_BYTES} bytes`;
    }
    // U+FFFD replaces what was not UTF-8 in the name.
    if (/[\p{Cc}\\\uFFFD]/u.test(path)) return "a name has a control character, a backslash or is not UTF-8";
    return null;
  }
}

function keyOf(path: string): string {
  return path.normalize("NFC").toLowerCase();
}

/** `tar -C folder .` writes an entry for the folder itself. */
function isRoot(name: string): boolean {
  return name === "." || name === "./";
}

/** The path without a leading `./`; null if it is absolute, empty, or has a part that is empty, `.` or `..`. */
function relativePath(name: string, type: "file" | "directory"): string | null {
  const plain = name.replace(/^\.\//, "");
  const path = type === "directory" ? plain.replace(/\/$/, "") : plain;
  return path.split("/").some((segment) => segment === "" || segment === "." || segment === "..") ? null : path;
}
