/**
 * Finds the folder of a project and reads files. Links may lead anywhere, and a project may come from anybody, so a
 * file whose path is in the folder is read only if the file itself is there, too. If the caller names a file elsewhere,
 * that is the caller's choice.
 */
import { isUtf8 } from "node:buffer";
import { createReadStream, statSync } from "node:fs";
import { readdir, readFile, realpath, stat } from "node:fs/promises";
import { basename, dirname, isAbsolute, join, posix, relative, resolve, sep } from "node:path";
import { didYouMean, similarName } from "../../data-schema/similar-name.ts";
import { CommandError } from "../exit-codes.ts";
import { printableLine } from "../terminal.ts";

/** Far above any limit that a deployment can have for a file. */
const MAX_FILE_BYTES = 256 * 1024 ** 2;
/** The name of a file that means standard input. */
export const STANDARD_INPUT = "-";

/** The folder of a project: the named folder, or the one that contains the named source. */
export async function projectFolder(source: string): Promise<string> {
  return (await isFolder(source)) ? resolve(source) : dirname(resolve(source));
}

export async function isFolder(path: string): Promise<boolean> {
  return (await statOf(path))?.isDirectory() ?? false;
}

export async function isFile(path: string): Promise<boolean> {
  return (await statOf(path))?.isFile() ?? false;
}

export async function sizeOf(path: string): Promise<number> {
  return (await statOf(path))?.size ?? 0;
}

/** @param folder of the project. @throws CommandError that names the file as the caller did */
export async function readNamed(path: string, name: string, folder: string): Promise<Buffer> {
  const shown = printableLine(name);
  const real = await realpath(path).catch(() => null);
  const found = real === null ? null : await statOf(real);
  if (real === null || found === null) throw await makeMissingFileError(path, name);
  if (await leadsOutOf(folder, path, real)) {
    throw new CommandError(
      `${shown} is not sent: a link leads out of the folder of the source, ${printableLine(folder)}. Copy the file there instead.`,
    );
  }
  if (!found.isFile()) throw new CommandError(`${shown} is not a file.`);
  if (found.size > MAX_FILE_BYTES) {
    throw new CommandError(`${shown} has ${found.size} bytes, and no service accepts more than ${MAX_FILE_BYTES}.`);
  }
  return readFile(real).catch((error: Error) => {
    throw new CommandError(`${shown} cannot be read (${printableLine(error.message)}).`);
  });
}

export async function makeMissingFileError(path: string, name: string): Promise<CommandError> {
  const names = await readdir(dirname(resolve(path))).catch(() => []);
  const closest = similarName(basename(path), names);
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
  if (!(await isStream(path))) return { bytes: await readNamed(path, name, folder), shown };
  return { bytes: await readStream(createReadStream(path), shown), shown };
}

/** It may be a socket, which cannot be opened by name. */
const NAMES_OF_STANDARD_INPUT: ReadonlySet<string> = new Set(["/dev/stdin", "/dev/fd/0", "/proc/self/fd/0"]);

/** Whether a path is that of a pipe or a device, or of an open file that has no other name. */
export async function isStream(path: string): Promise<boolean> {
  if (path === STANDARD_INPUT || NAMES_OF_STANDARD_INPUT.has(path)) return true;
  const found = await statOf(path);
  if (found === null || found.isDirectory()) return false;
  return !found.isFile() || (await realpath(path).catch(() => null)) === null;
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
    throw new CommandError(`${shown} cannot be read (${printableLine(error.message)}).`);
  }
  return Buffer.concat(chunks);
}

export async function leadsToFileBelow(folder: string, link: string): Promise<boolean> {
  const real = await realpath(link).catch(() => null);
  return real !== null && isBelow(await realpath(folder), real) && (await isFile(real));
}

/** Whether a file is outside a folder although its path, or the path of its last link, is inside. */
async function leadsOutOf(folder: string, path: string, real: string): Promise<boolean> {
  const realFolder = await realpath(folder);
  if (isBelow(realFolder, real)) return false;
  return isBelow(folder, resolve(path)) || isBelow(realFolder, await realpath(dirname(resolve(path))));
}

export function isBelow(folder: string, path: string): boolean {
  const below = relative(folder, path);
  return below !== ".." && !below.startsWith(`..${sep}`) && !isAbsolute(below);
}

/** Undefined for what cannot be a path, too. For sources with thousands of paths: a promise for each would take long. */
export function statNow(path: string) {
  try {
    return statSync(path, { throwIfNoEntry: false });
  } catch {
    return undefined;
  }
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

async function statOf(path: string) {
  return stat(path).catch(() => null);
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
