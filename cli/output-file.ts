/**
 * Writes outputs so that a file with its final name is always whole: first under a temporary name beside it, then renamed.
 * So a run that is interrupted leaves nothing that looks finished, and the next one knows what is done.
 */
import { createHash, randomBytes } from "node:crypto";
import { mkdir, open, rename, rm } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { pipeline } from "node:stream/promises";
import { CommandError, EXIT_CODES } from "./exit-codes.ts";
import { printableLine } from "./terminal.ts";
import { placeOf, rememberWritten } from "./written-files.ts";

/** Writes what the command has made, and remembers it (written-files.ts). @returns as `writeWhole` does */
export function writeOutput(path: string, bytes: AsyncIterable<Uint8Array> | Uint8Array): Promise<number> {
  return writeWhole(path, bytes, async (size, sha256) => {
    await rememberWritten({ path: await placeOf(path), bytes: size, sha256 });
  });
}

/**
 * @param onWhole called with size and digest before the file has its name, so that nothing has this name which is not known
 * @returns the number of bytes
 * @throws CommandError when the disk does not take them
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

/** Writes to standard output, as fast as its reader takes it. A reader that has gone away is no failure. */
export async function writeToStandardOutput(bytes: AsyncIterable<Uint8Array>): Promise<void> {
  try {
    await pipeline(bytes, process.stdout, { end: false });
  } catch (error) {
    if (!(error instanceof Error && "code" in error && error.code === "EPIPE")) throw error;
  }
}
