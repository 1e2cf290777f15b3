/**
 * Writes outputs so that a file under its final name is always complete: first under a temporary name beside it, then
 * renamed. So an interrupted run leaves nothing that looks finished, and the next run can tell what is done.
 */
import { createHash, randomBytes } from "node:crypto";
import { mkdir, open, realpath, rename, rm, stat, writeFile } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { pipeline } from "node:stream/promises";
import { CommandError, EXIT_CODES } from "./exit-codes.ts";
import { interruptible } from "./interruption.ts";
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
      printableLine(`${path} is a device, a pipe, or a link to one: nothing is written there. Remove it.`),
      EXIT_CODES.failure,
    );
  }
  return writeWhole(path, bytes, true);
}

/** Writes a document to the place that the caller named, also into what is no file. @returns the number of bytes */
export async function writeNamed(path: string, bytes: Bytes): Promise<number> {
  if (await isStandardOutput(path)) return writeToStandardOutput(bytes);
  if (!(await isNoFile(path))) return writeWhole(path, bytes, true);
  try {
    // Behind a descriptor such as /dev/fd/3 may be a file that already has something of the run before this one.
    const handle = await open(path, "a");
    try {
      return await pass(bytes, true, (chunks) => writeFile(handle, chunks));
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

/** For names of any characters, in file systems that allow 255 bytes. */
const MAX_SHOWN_CHARACTERS = 40;

/** @returns the number of bytes. @throws CommandError when the file cannot be written */
export function writeWhole(path: string, bytes: Bytes, isDocument = false): Promise<number> {
  const shown = basename(path).slice(0, MAX_SHOWN_CHARACTERS);
  const temporary = join(dirname(path), `.${shown}.${randomBytes(6).toString("hex")}.part`);
  return interruptible(async () => {
    try {
      await mkdir(dirname(path), { recursive: true });
      const handle = await open(temporary, "wx");
      let size: number;
      try {
        size = await pass(bytes, isDocument, (chunks) => writeFile(handle, chunks));
        await handle.sync();
      } finally {
        await handle.close();
      }
      await rename(temporary, path);
      return size;
    } catch (error) {
      await rm(temporary, { force: true });
      throw asCommandError(error, path);
    }
  });
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

function asCommandError(error: unknown, path: string): unknown {
  if (!(error instanceof Error && "syscall" in error)) return error;
  return new CommandError(printableLine(`${path} cannot be written (${error.message}).`), EXIT_CODES.failure);
}

/** The shell may write it into the folder, too. A reader that has gone is no failure. @returns the number of bytes */
export function writeToStandardOutput(bytes: Bytes): Promise<number> {
  return pass(bytes, true, (chunks) =>
    pipeline(chunks, process.stdout, { end: false }).catch((error: unknown) => {
      if (!(error instanceof Error && "code" in error && error.code === "EPIPE")) throw error;
    }),
  );
}
