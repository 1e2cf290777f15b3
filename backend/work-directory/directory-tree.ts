/**
 * Makes and removes the directories of a render, and lists and removes what Typst writes into an output directory. Many
 * are left to a thread. Machine code can make hundreds of thousands of files in a second, so nothing lists them all.
 */
import { mkdirSync, rmdirSync } from "node:fs";
import { opendir, rmdir, stat, unlink } from "node:fs/promises";
import { dirname, join } from "node:path";
import { Worker } from "node:worker_threads";
import { errorCode, ServiceFailure } from "../error-log.ts";
import { LoopTurns } from "./loop-turns.ts";
import { MAX_DIRECTORY_BYTES } from "./paths.ts";

const DIRECTORY_BYTES = 4096;
/** Up to this many directories are made and removed synchronously: to hand them to a thread costs more. */
export const FEW_DIRECTORIES = 16;

const NEVER = new AbortController().signal;

/** A directory that could not be made: `code` is the system's, `path` is relative to the tree's root. */
export class DirectoryError extends Error {
  override readonly name = "DirectoryError";
  readonly code: string;
  readonly path: string;

  constructor(code: string, path: string) {
    super(`a directory of a render failed: ${code}`);
    this.code = code;
    this.path = path;
  }
}

/** All directories that contain these relative paths, parents first. */
export function directoriesOf(files: readonly string[]): string[] {
  const directories = new Set<string>();
  for (const file of files) {
    const added: string[] = [];
    for (let path = dirname(file); path !== "." && !directories.has(path); path = dirname(path)) added.push(path);
    for (const path of added.reverse()) directories.add(path);
  }
  return [...directories];
}

/** As many as 64 of the longest keys name. More keys share most of their directories, unless someone attacks. */
const MAX_DIRECTORIES = MAX_DIRECTORY_BYTES / DIRECTORY_BYTES;

/** The first file with which there are more directories than there may be; null if all may be made. */
export function findTooManyDirectories(files: readonly string[]): string | null {
  if (countNamedDirectories(files) <= MAX_DIRECTORIES) return null;
  const directories = new Set<string>();
  for (const file of files) {
    for (let path = dirname(file); path !== "." && !directories.has(path); path = dirname(path)) directories.add(path);
    if (directories.size > MAX_DIRECTORIES) return file;
  }
  return null;
}

/** What the directories of these files need on disk, at most `MAX_DIRECTORY_BYTES`. */
export function neededDirectoryBytes(files: readonly string[]): number {
  return Math.min(MAX_DIRECTORY_BYTES, countNamedDirectories(files) * DIRECTORY_BYTES);
}

/** Shared ones are counted for each path. */
export function countNamedDirectories(files: readonly string[]): number {
  return files.reduce((count, file) => count + file.split("/").length - 1, 0);
}

/** @param signal stops the work; directories already made stay. @throws DirectoryError */
export async function makeDirectories(root: string, files: readonly string[], signal: AbortSignal): Promise<void> {
  if (countNamedDirectories(files) > FEW_DIRECTORIES) return runOnThread("make", root, files, signal);
  const turns = new LoopTurns();
  for (const directory of directoriesOf(files)) {
    if (signal.aborted) return;
    try {
      mkdirSync(join(root, directory));
    } catch (error) {
      throw new DirectoryError(errorCode(error), directory);
    }
    await turns.giveWay();
  }
}

/** Removes the directories that exist, which must be empty. @throws DirectoryError for the first that stays. */
export async function removeDirectories(root: string, files: readonly string[]): Promise<void> {
  if (countNamedDirectories(files) > FEW_DIRECTORIES) return runOnThread("remove", root, files, NEVER);
  const turns = new LoopTurns();
  for (const directory of directoriesOf(files).reverse()) {
    try {
      rmdirSync(join(root, directory));
    } catch (error) {
      const code = errorCode(error);
      // If the job that made the directories was stopped, some do not exist.
      if (code !== "ENOENT") throw new DirectoryError(code, directory);
    }
    await turns.giveWay();
  }
}

const MAX_WITHOUT_THREAD = 256;

const NAMES_PER_READ = 512;

/**
 * At most `maxFiles` of them, whether there are more, and the bytes of those.
 *
 * @param finished the sizes of those that nobody has to look at again
 */
export async function listOutputFiles(
  directory: string,
  maxFiles: number,
  finished: ReadonlyMap<string, number> = new Map(),
) {
  const names: string[] = [];
  let areMore = false;
  for await (const { name } of await opendir(directory, { bufferSize: NAMES_PER_READ })) {
    areMore = names.length === maxFiles;
    if (areMore) break;
    names.push(name);
  }
  const sizeOf = async (name: string) => finished.get(name) ?? (await stat(join(directory, name))).size;
  const sizes = new Map(await Promise.all(names.map(async (name) => [name, await sizeOf(name)] as const)));
  return { names, areMore, sizes, bytes: [...sizes.values()].reduce((sum, size) => sum + size, 0) };
}

export async function removeOutputFiles(directory: string): Promise<void> {
  try {
    const { names, areMore } = await listOutputFiles(directory, MAX_WITHOUT_THREAD);
    if (areMore) return await runOnThread("remove-files", directory, [], NEVER);
    await Promise.all(names.map((name) => unlink(join(directory, name))));
    await rmdir(directory);
  } catch (error) {
    if (errorCode(error) !== "ENOENT") throw error;
  }
}

/** For `directory-thread.ts`. */
export interface DirectoryJob {
  readonly id: number;
  /** `remove-files` also removes the root. */
  readonly kind: "make" | "remove" | "remove-files";
  readonly root: string;
  readonly files: readonly string[];
  /** One byte, set to 1 to stop the job. */
  readonly stop: SharedArrayBuffer;
}

export interface DirectoryAnswer {
  readonly id: number;
  /** The system's error code and the directory; null if the job finished or was stopped. */
  readonly failure: { readonly code: string; readonly path: string } | null;
}

let thread: Worker | null = null;
const pending = new Map<number, PromiseWithResolvers<DirectoryAnswer>>();
let lastId = 0;

async function runOnThread(
  kind: DirectoryJob["kind"],
  root: string,
  files: readonly string[],
  signal: AbortSignal,
): Promise<void> {
  const stop = new SharedArrayBuffer(1);
  const onAbort = () => Atomics.store(new Uint8Array(stop), 0, 1);
  if (signal.aborted) return;
  signal.addEventListener("abort", onAbort, { once: true });
  const id = ++lastId;
  const answered = Promise.withResolvers<DirectoryAnswer>();
  pending.set(id, answered);
  try {
    thread ??= startThread();
    thread.postMessage({ id, kind, root, files, stop } satisfies DirectoryJob);
    const { failure } = await answered.promise;
    if (failure !== null) throw new DirectoryError(failure.code, failure.path);
  } finally {
    pending.delete(id);
    signal.removeEventListener("abort", onAbort);
  }
}

/** One thread for the whole process. If it ends, the next job starts another. */
function startThread(): Worker {
  const started = new Worker(new URL("directory-thread.ts", import.meta.url));
  started.unref();
  started.on("message", (answer: DirectoryAnswer) => pending.get(answer.id)?.resolve(answer));
  // `exit` follows, whose handler rejects the pending jobs.
  started.on("error", () => {});
  started.on("exit", () => {
    thread = null;
    for (const { reject } of pending.values()) reject(new ServiceFailure("the thread for directories has ended"));
  });
  return started;
}
