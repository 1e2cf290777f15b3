/**
 * Finds the folder of a project and reads files. Links may lead anywhere, and a project may come from anybody, so a
 * file whose path is in the folder is read only if the file itself is there, too. If the caller names a file elsewhere,
 * that is the caller's choice.
 */
import { isUtf8 } from "node:buffer";
import { createReadStream } from "node:fs";
import { basename, dirname, isAbsolute, join, posix, relative, resolve, sep } from "node:path";
import { didYouMean, similarName } from "../../data-schema/similar-name.ts";
import { CommandError } from "../exit-codes.ts";
import { printableLine } from "../terminal.ts";
import { isFile, isFolder, namesIn, readBytes, realPath, statOf } from "./disk.ts";

/** Far above any limit that a deployment can have for a file. */
const MAX_FILE_BYTES = 256 * 1024 ** 2;
/** The name of a file that means standard input. */
export const STANDARD_INPUT = "-";

/** The folder of a project: the named folder, or the one that contains the named source. */
export function projectFolder(source: string): string {
  return isFolder(source) ? resolve(source) : dirname(resolve(source));
}

/** @param folder of the project. @throws CommandError that names the file as the caller did */
export function readNamed(path: string, name: string, folder: string): Buffer {
  const shown = printableLine(name);
  const real = realPath(path);
  const found = real === null ? null : statOf(real);
  if (real === null || found === null) throw makeMissingFileError(path, name);
  if (leadsOutOf(folder, path, real)) {
    throw new CommandError(
      `${shown} is not sent: a link leads out of the folder of the source, ${printableLine(folder)}. Copy the file there instead.`,
    );
  }
  if (!found.isFile()) throw new CommandError(`${shown} is not a file.`);
  if (found.size > MAX_FILE_BYTES) {
    throw new CommandError(`${shown} has ${found.size} bytes, and no service accepts more than ${MAX_FILE_BYTES}.`);
  }
  try {
    return readBytes(real);
  } catch (error) {
    throw makeUnreadableError(shown, error);
  }
}

/** Empty for what is no file, or cannot be read: it is reported where its content itself matters. */
export function readIfFile(path: string): Buffer {
  const found = path === STANDARD_INPUT ? null : statOf(path);
  if (!found?.isFile() || found.size > MAX_FILE_BYTES) return Buffer.alloc(0);
  try {
    return readBytes(path);
  } catch {
    return Buffer.alloc(0);
  }
}

/** @param shown the name of a file or a folder, safe to print */
export function makeUnreadableError(shown: string, error: unknown): CommandError {
  const why = error instanceof Error ? error.message : String(error);
  return new CommandError(`${shown} cannot be read (${printableLine(why)}).`);
}

export function makeMissingFileError(path: string, name: string): CommandError {
  const closest = similarName(basename(path), namesIn(dirname(resolve(path))));
  const meant = closest === null ? null : join(dirname(name), closest);
  return new CommandError(printableLine(`${name} does not exist.${didYouMean(meant)}`));
}

/**
 * Reads a file that the caller names, or standard input for `-`. A pipe or a device, such as the shell's `<(command)`, can
 * be read only once.
 *
 * @returns its name for messages as well
 */
export async function readInput(path: string, name: string, folder: string) {
  if (path === STANDARD_INPUT || NAMES_OF_STANDARD_INPUT.has(path)) {
    return { bytes: await readStream(process.stdin, "Standard input"), shown: "standard input" };
  }
  const shown = printableLine(name);
  if (!isStream(path)) return { bytes: readNamed(path, name, folder), shown };
  return { bytes: await readStream(createReadStream(path), shown), shown };
}

/** Standard input may be a socket, which cannot be opened by name. */
const NAMES_OF_STANDARD_INPUT: ReadonlySet<string> = new Set(["/dev/stdin", "/dev/fd/0", "/proc/self/fd/0"]);

/** Whether a path is that of a pipe or a device, or of an open file that has no other name. */
export function isStream(path: string): boolean {
  if (path === STANDARD_INPUT || NAMES_OF_STANDARD_INPUT.has(path)) return true;
  const found = statOf(path);
  if (found === null || found.isDirectory()) return false;
  return !found.isFile() || realPath(path) === null;
}

async function readStream(stream: AsyncIterable<unknown>, shown: string): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let size = 0;
  try {
    for await (const chunk of stream) {
      const bytes = Buffer.isBuffer(chunk) ? chunk : Buffer.from(String(chunk));
      size += bytes.length;
      if (size > MAX_FILE_BYTES) throw new CommandError(`${shown} is over the limit of ${MAX_FILE_BYTES} bytes.`);
      chunks.push(bytes);
    }
  } catch (error) {
    if (!(error instanceof Error && "syscall" in error)) throw error;
    throw makeUnreadableError(shown, error);
  }
  return Buffer.concat(chunks);
}

/** The path of a file, with the links in its folder resolved. The file may be missing, or a link itself. */
export function placeWithoutLinks(file: string): string {
  const folder = dirname(resolve(file));
  return join(realPath(folder) ?? folder, basename(file));
}

export function leadsToFileBelow(folder: string, link: string): boolean {
  const real = realPath(link);
  return real !== null && isBelow(realPath(folder) ?? folder, real) && isFile(real);
}

/** Whether a file is outside a folder although its path, or the path of its last link, is inside. */
function leadsOutOf(folder: string, path: string, real: string): boolean {
  const realFolder = realPath(folder) ?? folder;
  if (isBelow(realFolder, real)) return false;
  const inFolder = dirname(resolve(path));
  return isBelow(folder, resolve(path)) || isBelow(realFolder, realPath(inFolder) ?? inFolder);
}

export function isBelow(folder: string, path: string): boolean {
  const below = relative(folder, path);
  return below !== ".." && !below.startsWith(`..${sep}`) && !isAbsolute(below);
}

/** The path of a file below a root, as a key of the request has it. */
export function keyBelow(root: string, path: string): string {
  return relative(root, path).split(sep).join("/");
}

/** The key of a path in a file, relative to that, or to the root if it begins with `/`; null above the root. */
export function keyOf(path: string, fromKey: string): string | null {
  const joined = path.startsWith("/")
    ? posix.normalize(path.slice(1))
    : posix.normalize(posix.join(posix.dirname(fromKey), path));
  return joined.startsWith("../") || joined === ".." || joined === "." || joined.startsWith("/") ? null : joined;
}

const UTF_8_MARK = Buffer.from([0xef, 0xbb, 0xbf]);

/** Without the byte order mark that some editors put before a text. @throws CommandError when it is not UTF-8 */
export function utf8Text(bytes: Buffer, name: string): string {
  const beginning = bytes.toString("latin1", 0, 2);
  if (beginning === "\xff\xfe" || beginning === "\xfe\xff") {
    throw new CommandError(`${name} begins with the byte order mark of UTF-16: save it as UTF-8.`);
  }
  if (!isUtf8(bytes)) throw new CommandError(`${name} is not UTF-8: save it as UTF-8.`);
  return (hasByteOrderMark(bytes) ? bytes.subarray(UTF_8_MARK.length) : bytes).toString("utf8");
}

export function byteOrderMarkNote(bytes: Buffer, name: string): string[] {
  return hasByteOrderMark(bytes) ? [`${name} begins with a byte order mark, which is not sent.`] : [];
}

function hasByteOrderMark(bytes: Buffer): boolean {
  return bytes.subarray(0, UTF_8_MARK.length).equals(UTF_8_MARK);
}
