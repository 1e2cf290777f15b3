/**
 * Writes outputs so that a file under its final name is always complete: first under a temporary name beside it, then renamed.
 * So an interrupted run leaves nothing that looks finished, and the next run can tell what is done.
 */
import { createHash, randomBytes } from "node:crypto";
import { mkdir, open, rename, rm } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { pipeline } from "node:stream/promises";
import { CommandError, EXIT_CODES } from "./exit-codes.ts";
import { printableLine } from "./terminal.ts";
import { placeOf, rememberWritten, UNKNOWN_PLACE } from "./written-files.ts";

/** Writes a file that the command has made, and remembers it (written-files.ts). @returns what `writeWhole` returns */
export function writeOutput(path: string, bytes: AsyncIterable<Uint8Array> | Uint8Array): Promise<number> {
  return writeWhole(path, bytes, async (size, sha256) => {
    await rememberWritten({ path: await placeOf(path), bytes: size, sha256 });
  });
}

/**
 * @param onWhole called with size and digest before the file gets its name, so that every file of this name has been recorded
 * @returns the number of bytes
 * @throws CommandError when the file cannot be written
 */
export async function writeWhole(
  path: string,
  bytes: AsyncIterable<Uint8Array> | Uint8Array,
  onWhole?: (size: number, sha256: string) => Promise<void>,
): Promise<number> {
  const temporary = join(dirname(path), `.${basename(path).slice(0, 100)}.${randomBytes(6).toString("hex")}.part`);
  try {
    await mkdir(dirname(path), { recursive: true });
    const handle = await open(temporary, "wx");
    let size = 0;
    const digest = createHash("sha256");
    try {
      for await (const chunk of bytes instanceof Uint8Array ? [bytes] : bytes) {
        await handle.writeFile(chunk);
        digest.update(chunk);
        size += chunk.length;
      }
      await handle.sync();
    } finally {
      await handle.close();
    }
    await onWhole?.(size, digest.digest("hex"));
    await rename(temporary, path);
    return size;
  } catch (error) {
    await rm(temporary, { force: true });
    if (error instanceof Error && "syscall" in error) {
      throw new CommandError(printableLine(`${path} cannot be written (${error.message}).`), EXIT_CODES.failure);
    }
    throw error;
  }
}

/**
 * Writes to standard output, as fast as its reader takes it, and remembers the content: the shell may write it into the folder. A
 * reader that has gone away is no failure.
 *
 * @returns the number of bytes
 */
export async function writeToStandardOutput(bytes: AsyncIterable<Uint8Array>): Promise<number> {
  let size = 0;
  const digest = createHash("sha256");
  async function* counted() {
    for await (const chunk of bytes) {
      size += chunk.length;
      digest.update(chunk);
      yield chunk;
    }
  }
  try {
    await pipeline(counted(), process.stdout, { end: false });
    await rememberWritten({ path: UNKNOWN_PLACE, bytes: size, sha256: digest.digest("hex") });
  } catch (error) {
    if (!(error instanceof Error && "code" in error && error.code === "EPIPE")) throw error;
  }
  return size;
}
