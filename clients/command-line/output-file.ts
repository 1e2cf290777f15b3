/**
 * Writes outputs so that a file under its final name is always complete: first under a temporary name beside it, then
 * renamed. So an interrupted run leaves nothing that looks finished, and the next run can tell what is done. It also
 * removes what a killed run has left beside its files.
 */
import { createHash, randomBytes } from "node:crypto";
import { readlinkSync } from "node:fs";
import { type FileHandle, mkdir, open, readdir, realpath, rename, rm, stat, unlink } from "node:fs/promises";
import { hostname } from "node:os";
import { basename, dirname, join } from "node:path";
import { pipeline } from "node:stream/promises";
import { CommandError, EXIT_CODES } from "./exit-codes.ts";
import { interruptible } from "./interruption.ts";
import { printableLine } from "./terminal.ts";
import { placeOf, rememberWritten, UNKNOWN_PLACE } from "./written-files.ts";

type Bytes = AsyncIterable<Uint8Array> | Uint8Array;

/** Called with size and digest of all that has been written. */
type OnWhole = (size: number, sha256: string) => Promise<void>;

/**
 * Writes a file under a name that the command has made, and remembers it (written-files.ts). The folder may be
 * anybody's, so a device, a pipe, or a link to one is not opened.
 *
 * @returns the number of bytes
 */
export async function writeOutput(path: string, bytes: Bytes): Promise<number> {
  if (await isNoFile(path)) {
    throw new CommandError(
      printableLine(`${path} is a device, a pipe, or a link to one: nothing is written there. Remove it.`),
      EXIT_CODES.failure,
    );
  }
  return writeWhole(path, bytes, rememberAt(path));
}

/** Writes to the place that the caller named, and remembers it. @returns what `writeNamed` returns */
export function writeNamedOutput(path: string, bytes: Bytes): Promise<number> {
  return writeNamed(path, bytes, rememberAt(path));
}

function rememberAt(path: string): OnWhole {
  return async (size, sha256) => rememberWritten({ path: await placeOf(path), bytes: size, sha256 });
}

/**
 * Writes to the place that the caller named: a file as `writeWhole` does, and into what is no file. @returns the number
 * of bytes
 */
export async function writeNamed(path: string, bytes: Bytes, onWhole?: OnWhole): Promise<number> {
  if (await isStandardOutput(path)) return writeToStandardOutput(bytes);
  if (!(await isNoFile(path))) return writeWhole(path, bytes, onWhole);
  try {
    // Behind a descriptor such as /dev/fd/3 may be a file that already has something of the run before this one.
    const handle = await open(path, "a");
    try {
      const { size, sha256 } = await copyTo(handle, bytes);
      await onWhole?.(size, sha256);
      return size;
    } finally {
      await handle.close();
    }
  } catch (error) {
    throw asCommandError(error, path);
  }
}

/**
 * A file behind it must be written at the place where the shell has it open: what is written next would else replace
 * it.
 */
async function isStandardOutput(path: string): Promise<boolean> {
  const named = path === "/dev/stdout" ? "/proc/self/fd/1" : path;
  if (basename(named) !== "1") return false;
  return (await realpath(dirname(named)).catch(() => "")) === `/proc/${process.pid}/fd`;
}

/**
 * Whether a path is that of a device, a pipe or a socket, such as `/dev/null` or the shell's `>(lp)`. To rename a file
 * to it would replace it. So it would replace the link `/dev/stdout`, wherever that leads.
 */
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
  const part = partName(basename(path));
  const temporary = join(dirname(path), part);
  ownParts.add(part);
  try {
    await mkdir(dirname(path), { recursive: true });
    await tidyFolder(dirname(path));
    const handle = await open(temporary, "wx");
    let written: Written;
    try {
      written = await copyTo(handle, bytes);
      await handle.sync();
    } finally {
      await handle.close();
    }
    await onWhole?.(written.size, written.sha256);
    await rename(temporary, path);
    return written.size;
  } catch (error) {
    await rm(temporary, { force: true });
    throw asCommandError(error, path);
  } finally {
    ownParts.delete(part);
  }
}

/**
 * What is left of a run that was killed is told from what another run is writing by its machine and process. Containers
 * may have the name of their machine, and each has processes of its own.
 */
const MACHINE = createHash("sha256").update(`${hostname()} ${processNamespace()}`).digest("hex").slice(0, 8);
const PART_NAME = /^\..*\.([0-9a-f]{8})-([0-9]{1,10})-[0-9a-f]{12}\.part$/s;
/** Of other machines: a run that has written nothing for so long has ended. */
const MAX_PART_AGE_MILLISECONDS = 24 * 60 * 60 * 1000;
/** Parts that this process is writing. A folder may have several paths, and is tidied under each of them. */
const ownParts = new Set<string>();
/** Folders whose abandoned parts have been removed: a run may write thousands of files into one. */
const tidiedFolders = new Map<string, Promise<void>>();
/** For names of any characters, in file systems that allow 255 bytes. */
const MAX_SHOWN_CHARACTERS = 40;

/** Empty where there is no /proc. */
function processNamespace(): string {
  try {
    return readlinkSync("/proc/self/ns/pid");
  } catch {
    return "";
  }
}

function partName(name: string): string {
  return `.${name.slice(0, MAX_SHOWN_CHARACTERS)}.${MACHINE}-${process.pid}-${randomBytes(6).toString("hex")}.part`;
}

function tidyFolder(folder: string): Promise<void> {
  const tidied = tidiedFolders.get(folder) ?? removeAbandonedParts(folder);
  tidiedFolders.set(folder, tidied);
  return tidied;
}

/** Parts with the number of this process that it does not write are of an earlier process. */
async function removeAbandonedParts(folder: string): Promise<void> {
  for (const name of await readdir(folder).catch(() => [])) {
    const [, machine, pid] = PART_NAME.exec(name) ?? [];
    if (pid === undefined || ownParts.has(name)) continue;
    const path = join(folder, name);
    const isAbandoned = machine === MACHINE ? !isRunning(Number(pid)) : await isOld(path);
    if (isAbandoned) await unlink(path).catch(() => {});
  }
}

function isRunning(pid: number): boolean {
  try {
    return pid !== process.pid && process.kill(pid, 0);
  } catch (error) {
    // A process of another user may not be signalled.
    return error instanceof Error && "code" in error && error.code === "EPERM";
  }
}

async function isOld(path: string): Promise<boolean> {
  const found = await stat(path).catch(() => null);
  return found !== null && Date.now() - found.mtimeMs > MAX_PART_AGE_MILLISECONDS;
}

interface Written {
  readonly size: number;
  readonly sha256: string;
}

async function copyTo(handle: FileHandle, bytes: Bytes): Promise<Written> {
  const measured = measure(bytes);
  for await (const chunk of measured.chunks) await handle.writeFile(chunk);
  return measured.written();
}

/** Counts and digests bytes while they are read. `written` says what has been read so far. */
function measure(bytes: Bytes): { readonly chunks: AsyncIterable<Uint8Array>; readonly written: () => Written } {
  let size = 0;
  const digest = createHash("sha256");
  async function* chunks() {
    for await (const chunk of bytes instanceof Uint8Array ? [bytes] : bytes) {
      size += chunk.length;
      digest.update(chunk);
      yield chunk;
    }
  }
  return { chunks: chunks(), written: () => ({ size, sha256: digest.copy().digest("hex") }) };
}

/** A failure of the disk in the caller's words; anything else as it is. */
function asCommandError(error: unknown, path: string): unknown {
  if (!(error instanceof Error && "syscall" in error)) return error;
  return new CommandError(printableLine(`${path} cannot be written (${error.message}).`), EXIT_CODES.failure);
}

/**
 * Writes to standard output, as fast as its reader takes it, and remembers the content: the shell may write it into the
 * folder. A reader that has gone away is no failure.
 *
 * @returns the number of bytes
 */
export async function writeToStandardOutput(bytes: Bytes): Promise<number> {
  const measured = measure(bytes);
  try {
    await pipeline(measured.chunks, process.stdout, { end: false });
    const { size, sha256 } = measured.written();
    await rememberWritten({ path: UNKNOWN_PLACE, bytes: size, sha256 });
  } catch (error) {
    if (!(error instanceof Error && "code" in error && error.code === "EPIPE")) throw error;
  }
  return measured.written().size;
}
