/**
 * Writes outputs so that a file under its final name is always complete: first under a temporary name beside it, then
 * renamed. So an interrupted run leaves nothing that looks finished, and the next run can tell what is done.
 */
import { createHash, randomBytes } from "node:crypto";
import { mkdir, open, realpath, rename, rm, stat, writeFile } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { pipeline } from "node:stream/promises";
import { CommandError, EXIT_CODES } from "./exit-codes.ts";
import { runInterruptible } from "./interruption.ts";
import { printableLine } from "./terminal.ts";
import { rememberWritten } from "./written-files.ts";

type Bytes = AsyncIterable<Uint8Array> | Uint8Array;

/**
 * Writes a document under a name that the command has made. The folder may be anybody's, so a device, a pipe, or a link
 * to one is not opened. @returns the number of bytes
 */
export async function writeOutput(path: string, bytes: Bytes): Promise<number> {
  if (await isNoFile(path)) {
    throw new CommandError(
      printableLine(`${path} is a device, a pipe, or a link to one, so nothing was written. Remove it.`),
      EXIT_CODES.failure,
    );
  }
  return writeWhole(path, bytes, true);
}

/** Writes a document to the place that the caller named, which may be a device or a pipe. @returns the number of bytes */
export async function writeNamed(path: string, bytes: Bytes): Promise<number> {
  if (await isStandardOutput(path)) return writeToStandardOutput(bytes);
  if (!(await isNoFile(path))) return writeWhole(path, bytes, true);
  try {
    // A descriptor such as /dev/fd/3 may be a file that a command before this one has written to.
    return await writeTo(path, "a", bytes, true);
  } catch (error) {
    throw makeWriteError(error, path);
  }
}

/** It may be a file that the shell has open: opened once more, it would be overwritten by what the shell writes next. */
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

/** A name of this many characters, with what is added, has less than the 255 bytes that file systems allow. */
const MAX_SHOWN_CHARACTERS = 40;

/** @returns the number of bytes. @throws CommandError when the file cannot be written */
export function writeWhole(path: string, bytes: Bytes, isDocument = false): Promise<number> {
  const shown = basename(path).slice(0, MAX_SHOWN_CHARACTERS);
  const temporary = join(dirname(path), `.${shown}.${randomBytes(6).toString("hex")}.part`);
  return runInterruptible(async () => {
    try {
      await mkdir(dirname(path), { recursive: true });
      const size = await writeTo(temporary, "wx", bytes, isDocument);
      await rename(temporary, path);
      return size;
    } catch (error) {
      await rm(temporary, { force: true });
      throw makeWriteError(error, path);
    }
  });
}

async function writeTo(path: string, flag: "a" | "wx", bytes: Bytes, isDocument: boolean): Promise<number> {
  const handle = await open(path, flag);
  try {
    return await pass(bytes, isDocument, async (chunks) => {
      await writeFile(handle, chunks);
      // Neither a device nor a pipe can be synced.
      if (flag === "wx") await handle.sync();
    });
  } finally {
    await handle.close();
  }
}

/**
 * Passes bytes on. A document is remembered before the last of them has its file or reader, so that every file of a
 * final name is known. @returns their number
 */
async function pass(
  bytes: Bytes,
  isDocument: boolean,
  write: (chunks: AsyncIterable<Uint8Array>) => Promise<void>,
): Promise<number> {
  let size = 0;
  async function* chunks() {
    const digest = createHash("sha256");
    for await (const chunk of bytes instanceof Uint8Array ? [bytes] : bytes) {
      size += chunk.length;
      digest.update(chunk);
      yield chunk;
    }
    if (isDocument) await rememberWritten({ bytes: size, sha256: digest.digest("hex") });
  }
  await write(chunks());
  return size;
}

function makeWriteError(error: unknown, path: string): unknown {
  if (!(error instanceof Error && "syscall" in error)) return error;
  return new CommandError(printableLine(`${path} cannot be written (${error.message}).`), EXIT_CODES.failure);
}

/** Remembered, for a shell may redirect it to a file of the project. A reader that stops early is no failure. */
export function writeToStandardOutput(bytes: Bytes): Promise<number> {
  return pass(bytes, true, (chunks) =>
    pipeline(chunks, process.stdout, { end: false }).catch((error: unknown) => {
      if (!(error instanceof Error && "code" in error && error.code === "EPIPE")) throw error;
    }),
  );
}
