/** Unpacks the archive of a Typst package (`.tar.gz`) in memory, and refuses what a package does not need. */
import { promisify } from "node:util";
import { gunzip } from "node:zlib";
import { unpackTar } from "modern-tar";
import { VendoringError } from "../vendoring/folder-change.ts";

/** Several times what the largest packages of Typst Universe need, which bring fonts and WebAssembly. */
export const ARCHIVE_LIMITS = {
  maxArchiveBytes: 64 * 1024 ** 2,
  /** Of the tar archive, with headers and padding. */
  maxUnpackedBytes: 128 * 1024 ** 2,
  /** Folders count, too. */
  maxFiles: 5000,
  maxPathSegments: 16,
};
export type ArchiveLimits = Readonly<typeof ARCHIVE_LIMITS>;

/** The files of a package by their paths, which are relative, with `/`. */
export type PackageFiles = ReadonlyMap<string, Uint8Array>;

/** @param title names the archive in errors. @throws VendoringError if it is refused */
export async function unpackArchive(title: string, archive: Uint8Array, limits: ArchiveLimits): Promise<PackageFiles> {
  const refuse = (reason: string) => new VendoringError(`${title} is refused: ${reason}.`);
  const tar = await promisify(gunzip)(archive, { maxOutputLength: limits.maxUnpackedBytes }).catch(
    (error: NodeJS.ErrnoException) => {
      if (error.code === "ERR_BUFFER_TOO_LARGE") throw refuse(`it unpacks to over ${limits.maxUnpackedBytes} bytes`);
      throw refuse("it is not compressed with gzip, or is damaged");
    },
  );
  let count = 0;
  // While reading, because each entry costs far more than its header.
  const countEntry = () => {
    count++;
    if (count > limits.maxFiles) throw refuse(`it has over ${limits.maxFiles} files and folders`);
    return true;
  };
  const entries = await unpackTar(tar, { strict: true, filter: countEntry }).catch((error: unknown) => {
    throw error instanceof VendoringError ? error : refuse("it is not a tar archive, or is damaged");
  });
  const files = new Map<string, Uint8Array>();
  for (const { header, data } of entries) {
    const { name, type = "file" } = header;
    // A folder is made for the files in it, so its own name does not matter.
    if (type === "directory") continue;
    if (type !== "file") throw refuse(`it has an entry of the type ${type}`);
    const path = name.replace(/^\.\//, "");
    const reason = files.has(path) ? "two entries have the same name" : refusalOfPath(path, limits);
    if (reason !== null) throw refuse(reason);
    files.set(path, data ?? new Uint8Array());
  }
  return files;
}

/** Why no package has such a path; null if it may have. */
export function refusalOfPath(path: string, { maxPathSegments }: ArchiveLimits): string | null {
  const segments = path.split("/");
  if (segments.some((segment) => ["", ".", ".."].includes(segment))) return "a name leads out of the package";
  if (segments.length > maxPathSegments) return `a name has over ${maxPathSegments} parts`;
  // U+FFFD replaces what was not UTF-8 in the name.
  if (/[\p{Cc}\\\uFFFD]/u.test(path)) return "a name has a control character, a backslash or is not UTF-8";
  return null;
}
