/**
 * Writes outputs so that a file under its final name is always complete: first under a temporary name beside it, then
 * renamed. So an interrupted run leaves nothing that looks finished, and the next run can tell what is done.
 */
import { createHash, randomBytes } from "node:crypto";
import { type FileHandle, mkdir, open, realpath, rename, rm, stat } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { pipeline } from "node:stream/promises";
import { CommandError, EXIT_CODES } from "./exit-codes.ts";
import { interruptible } from "./interruption.ts";
import { printableLine } from "./terminal.ts";
import { rememberWritten, type WrittenFile } from "./written-files.ts";

type Bytes = AsyncIterable<Uint8Array> | Uint8Array;

/** Called with all that has been written. */
type OnWhole = (written: WrittenFile) => Promise<void>;

/**
 * Writes a file under a name that the command has made, and remembers it. The folder may be anybody's, so a device, a
 * pipe, or a link to one is not opened. @returns the number of bytes
 */
export async function writeOutput(path: string, bytes: Bytes): Promise<number> {
  if (await isNoFile(path)) {
    throw new CommandError(
      printableLine(`${path} is a device, a pipe, or a link to one: nothing is written there. Remove it.`),
      EXIT_CODES.failure,
    );
  }
  return writeWhole(path, bytes, rememberWritten);
}

/** Writes to the place that the caller named, and remembers it. @returns what `writeNamed` returns */
export function writeNamedOutput(path: string, bytes: Bytes): Promise<number> {
  return writeNamed(path, bytes, rememberWritten);
}

/** Writes to the place that the caller named, also into what is no file. @returns the number of bytes */
export async function writeNamed(path: string, bytes: Bytes, onWhole?: OnWhole): Promise<number> {
  if (await isStandardOutput(path)) return writeToStandardOutput(bytes);
  if (!(await isNoFile(path))) return writeWhole(path, bytes, onWhole);
  try {
    // Behind a descriptor such as /dev/fd/3 may be a file that already has something of the run before this one.
    const handle = await open(path, "a");
    try {
      const written = await copyTo(handle, bytes);
      await onWhole?.(written);
      return written.bytes;
    } finally {
      await handle.close();
    }
  } catch (error) {
    throw asCommandError(error, path);
  }
}

/** A file behind it must be written where the shell has it open, or else what is written next would replace it. */
async function isStandardOutput(path: string): Promise<boolean> {
  const named = path === "/dev/stdout" ? "/proc/self/fd/1" : path;
  if (basename(named) !== "1") return false;
  return (await realpath(dirname(named)).catch(() => "")) === `/proc/${process.pid}/fd`;
}

/** Whether a path is that of a device, a pipe or a socket, such as the shell's `>(lp)`: a rename would replace it. */
async function isNoFile(path: string): Promise<boolean> {
  const found = await stat(path).catch(() => null);
  if (found === null || found.isDirectory()) return false;
  return !found.isFile() || /^\/(?:dev|proc\/.*)$/.test(await realpath(dirname(path)));
}

/**
 * @param onWhole called with size and digest before the file gets its name, so that every file of this name has been
 *   recorded
 * @returns the number of bytes
 * @throws CommandError when the file cannot be written
 */
export function writeWhole(path: string, bytes: Bytes, onWhole?: OnWhole): Promise<number> {
  return interruptible(() => writeAndRename(path, bytes, onWhole));
}

async function writeAndRename(path: string, bytes: Bytes, onWhole?: OnWhole): Promise<number> {
  const shown = basename(path).slice(0, MAX_SHOWN_CHARACTERS);
  const temporary = join(dirname(path), `.${shown}.${randomBytes(6).toString("hex")}.part`);
  try {
    await mkdir(dirname(path), { recursive: true });
    const handle = await open(temporary, "wx");
    let written: WrittenFile;
    try {
      written = await copyTo(handle, bytes);
      await handle.sync();
    } finally {
      await handle.close();
    }
    await onWhole?.(written);
    await rename(temporary, path);
    return written.bytes;
  } catch (error) {
    await rm(temporary, { force: true });
    throw asCommandError(error, path);
  }
}

/** For names of any characters, in file systems that allow 255 bytes. */
const MAX_SHOWN_CHARACTERS = 40;

async function copyTo(handle: FileHandle, bytes: Bytes): Promise<WrittenFile> {
  const measured = measure(bytes);
  for await (const chunk of measured.chunks) await handle.writeFile(chunk);
  return measured.written();
}

/** Counts and digests bytes while they are read. `written` says what has been read so far. */
function measure(bytes: Bytes): { readonly chunks: AsyncIterable<Uint8Array>; readonly written: () => WrittenFile } {
  let size = 0;
  const digest = createHash("sha256");
  async function* chunks() {
    for await (const chunk of bytes instanceof Uint8Array ? [bytes] : bytes) {
      size += chunk.length;
      digest.update(chunk);
      yield chunk;
    }
  }
  return { chunks: chunks(), written: () => ({ bytes: size, sha256: digest.copy().digest("hex") }) };
}

function asCommandError(error: unknown, path: string): unknown {
  if (!(error instanceof Error && "syscall" in error)) return error;
  return new CommandError(printableLine(`${path} cannot be written (${error.message}).`), EXIT_CODES.failure);
}

/**
 * Writes to standard output and remembers the content, which the shell may write into the folder. A reader that has
 * gone away is no failure. @returns the number of bytes
 */
export async function writeToStandardOutput(bytes: Bytes): Promise<number> {
  const measured = measure(bytes);
  try {
    await pipeline(measured.chunks, process.stdout, { end: false });
    await rememberWritten(measured.written());
  } catch (error) {
    if (!(error instanceof Error && "code" in error && error.code === "EPIPE")) throw error;
  }
  return measured.written().bytes;
}
