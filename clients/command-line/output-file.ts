/**
 * Writes outputs so that a file under its final name is always complete: first under a temporary name, then renamed. So
 * an interrupted run leaves nothing that looks finished, and the next run can tell what is done. A file that exists
 * stays the one it is: with its mode and group, its links, and its mount.
 */
import { randomBytes } from "node:crypto";
import { constants, type Stats } from "node:fs";
import { access, type FileHandle, mkdir, mkdtemp, open, readlink, realpath, rename, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, dirname, join, resolve } from "node:path";
import { pipeline } from "node:stream/promises";
import { CommandError, EXIT_CODES } from "./exit-codes.ts";
import { runInterruptible } from "./interruption.ts";
import { printableLine } from "./terminal.ts";

type Bytes = AsyncIterable<Uint8Array> | Uint8Array;

/** @throws CommandError when nothing can be written to a place that the caller named: before any work for it */
export async function requireOutputPlace(path: string): Promise<void> {
  const shown = printableLine(path);
  const found = await statOf(path);
  if (found?.isDirectory() || /[/\\]$/.test(path)) {
    throw new CommandError(`${shown} is a folder: name a file in it.`);
  }
  if (found?.isFile()) return requireWritable(found, path);
  if (found !== null) return;
  let folder = dirname(await targetOf(path));
  for (; (await statOf(folder)) === null && folder !== dirname(folder); folder = dirname(folder));
  if (!(await statOf(folder))?.isDirectory()) {
    throw new CommandError(`${shown} cannot be written: ${printableLine(folder)} is not a folder.`);
  }
  await access(folder, constants.W_OK).catch((error: unknown) => {
    throw makeWriteError(error, path);
  });
}

/** The superuser may write to a read-only file, and has made it one nevertheless. */
async function requireWritable(found: Stats, path: string): Promise<void> {
  if ((found.mode & 0o222) === 0) {
    throw new CommandError(printableLine(`${path} is read-only, so nothing was written.`), EXIT_CODES.failure);
  }
  await access(path, constants.W_OK).catch((error: unknown) => {
    throw makeWriteError(error, path);
  });
}

/** The place of a name that the command has made. @throws CommandError for a device, a pipe, or a link to one */
export async function requireFilePlace(path: string): Promise<void> {
  await requireOutputPlace(path);
  if (!(await isNoFile(path))) return;
  throw new CommandError(
    printableLine(`${path} is a device, a pipe, or a link to one, so nothing was written. Remove it.`),
    EXIT_CODES.failure,
  );
}

/** Writes a document under a name that the command has made. The folder may be anybody's, so a link is replaced. */
export async function writeOutput(path: string, bytes: Bytes): Promise<number> {
  await requireFilePlace(path);
  return (await readlinkOf(path)) === null ? replaceOrMake(path, path, bytes) : writeWhole(path, bytes);
}

/** Writes a document to the place that the caller named, which may be a device, a pipe or a link. @returns the number of bytes */
export async function writeNamed(path: string, bytes: Bytes): Promise<number> {
  if (await isStandardOutput(path)) return writeToStandardOutput(bytes);
  if (!(await isNoFile(path))) return replaceOrMake(path, await targetOf(path), bytes);
  try {
    // A descriptor such as /dev/fd/3 may be a file that a command before this one has written to.
    return await writeTo(path, "a", bytes);
  } catch (error) {
    throw makeWriteError(error, path);
  }
}

/** @param target the path of the file itself */
async function replaceOrMake(path: string, target: string, bytes: Bytes): Promise<number> {
  const found = await statOf(target);
  if (found === null) return writeWhole(path, bytes, target);
  await requireWritable(found, path);
  return runInterruptible(async () => {
    const [temporary, remove] = await makeTemporary(target).catch((error: unknown) => {
      throw makeWriteError(error, path);
    });
    try {
      const size = await writeTo(temporary, "wx", bytes);
      if (!(await takesPlaceOf(temporary, target, found))) await writeInPlace(temporary, target);
      return size;
    } catch (error) {
      throw makeWriteError(error, path);
    } finally {
      await remove();
    }
  });
}

/** A name beside the file, so that a rename is possible; else elsewhere, for a file in a folder that takes no other one. */
async function makeTemporary(target: string): Promise<[path: string, remove: () => Promise<void>]> {
  const beside = temporaryName(target);
  const isPossible = await access(dirname(target), constants.W_OK).then(
    () => true,
    () => false,
  );
  if (isPossible) return [beside, () => rm(beside, { force: true })];
  const folder = await mkdtemp(join(tmpdir(), "document-rendering-"));
  return [join(folder, "output"), () => rm(folder, { recursive: true, force: true })];
}

/** Errors of a rename when a file can only be written itself: a mount, another file system, a folder of somebody else. */
const NO_RENAME = new Set(["EBUSY", "EXDEV", "EPERM", "EACCES", "EROFS"]);

/** Renames a complete file if it is then what the one before was: one name, its owner, group and mode. */
async function takesPlaceOf(temporary: string, target: string, { nlink, uid, gid, mode }: Stats): Promise<boolean> {
  if (nlink > 1) return false;
  const handle = await open(temporary, "r+");
  try {
    await handle.chown(uid, gid);
    await handle.chmod(mode & 0o7777);
    await rename(temporary, target);
    return true;
  } catch (error) {
    if (error instanceof Error && "code" in error && NO_RENAME.has(String(error.code))) return false;
    throw error;
  } finally {
    await handle.close();
  }
}

/** Not atomic, but from a file that is complete: only a full disk or a kill at this moment leaves half of it. */
async function writeInPlace(source: string, target: string): Promise<void> {
  const from = await open(source, "r");
  try {
    const to = await open(target, "r+");
    try {
      let size = 0;
      for await (const chunk of from.createReadStream({ autoClose: false })) size += await writeAll(to, chunk);
      await to.truncate(size);
      await to.sync();
    } finally {
      await to.close();
    }
  } finally {
    await from.close();
  }
}

/** Standard output may be a file that the shell has open: opened once more, it would be overwritten by what the shell writes next. */
async function isStandardOutput(path: string): Promise<boolean> {
  const named = path === "/dev/stdout" ? "/proc/self/fd/1" : path;
  if (basename(named) !== "1") return false;
  return (await realpath(dirname(named)).catch(() => "")) === `/proc/${process.pid}/fd`;
}

/** Whether a path is that of a device, a pipe or a socket, such as the shell's `>(lp)`: a rename would replace it. */
async function isNoFile(path: string): Promise<boolean> {
  const found = await statOf(path);
  if (found === null || found.isDirectory()) return false;
  return !found.isFile() || /^\/(?:dev|proc\/.*)$/.test(await realpath(dirname(path)));
}

/** As many as Linux follows. */
const MAX_LINKS = 40;

/** The path that links lead to, also if nothing is there yet. */
async function targetOf(path: string): Promise<string> {
  let target = path;
  for (let count = 0; count < MAX_LINKS; count++) {
    const next = await readlinkOf(target);
    if (next === null) return target;
    target = resolve(await realpath(dirname(target)), next);
  }
  throw new CommandError(printableLine(`${path} is a link to itself, so nothing was written.`), EXIT_CODES.failure);
}

/** Null if it is no link. */
function readlinkOf(path: string): Promise<string | null> {
  return readlink(path).catch(() => null);
}

function statOf(path: string): Promise<Stats | null> {
  return stat(path).catch(() => null);
}

/** A name of this many characters, with what is added, has less than the 255 bytes that file systems allow. */
const MAX_SHOWN_CHARACTERS = 40;

function temporaryName(path: string): string {
  const shown = basename(path).slice(0, MAX_SHOWN_CHARACTERS);
  return join(dirname(path), `.${shown}.${randomBytes(6).toString("hex")}.part`);
}

/**
 * Makes a file, or replaces what has its name.
 *
 * @param target where links of the path lead to, if they are followed
 * @returns the number of bytes. @throws CommandError when the file cannot be written
 */
export function writeWhole(path: string, bytes: Bytes, target = path): Promise<number> {
  const temporary = temporaryName(target);
  return runInterruptible(async () => {
    try {
      await mkdir(dirname(target), { recursive: true });
      const size = await writeTo(temporary, "wx", bytes);
      await rename(temporary, target);
      return size;
    } catch (error) {
      await rm(temporary, { force: true });
      throw makeWriteError(error, path);
    }
  });
}

/** @returns the number of bytes */
async function writeTo(path: string, flag: "a" | "wx", bytes: Bytes): Promise<number> {
  const handle = await open(path, flag);
  try {
    let size = 0;
    for await (const chunk of chunksOf(bytes)) size += await writeAll(handle, chunk);
    // Neither a device nor a pipe can be synced.
    if (flag === "wx") await handle.sync();
    return size;
  } finally {
    await handle.close();
  }
}

/** `write` may write less, such as to a pipe. */
async function writeAll(handle: FileHandle, chunk: Uint8Array): Promise<number> {
  for (let written = 0; written < chunk.length; ) {
    written += (await handle.write(chunk, written)).bytesWritten;
  }
  return chunk.length;
}

function chunksOf(bytes: Bytes): AsyncIterable<Uint8Array> | readonly Uint8Array[] {
  return bytes instanceof Uint8Array ? [bytes] : bytes;
}

function makeWriteError(error: unknown, path: string): unknown {
  if (!(error instanceof Error && "syscall" in error)) return error;
  return new CommandError(printableLine(`${path} cannot be written (${error.message}).`), EXIT_CODES.failure);
}

/** A reader that stops early is no failure. @returns the number of bytes */
export async function writeToStandardOutput(bytes: Bytes): Promise<number> {
  let size = 0;
  async function* counted() {
    for await (const chunk of chunksOf(bytes)) {
      size += chunk.length;
      yield chunk;
    }
  }
  await pipeline(counted, process.stdout, { end: false }).catch((error: unknown) => {
    if (!(error instanceof Error && "code" in error && error.code === "EPIPE")) throw error;
  });
  return size;
}
