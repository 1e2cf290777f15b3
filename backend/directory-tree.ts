/**
 * The directories of one project: made and removed each by itself where they are few, on a thread where they are many.
 */

import { mkdir, rmdir } from "node:fs/promises";
import { dirname, join } from "node:path";
import { Worker } from "node:worker_threads";
import type { DirectoryAnswer, DirectoryJob } from "./directory-thread.ts";
import { ServiceFailure } from "./error-log.ts";

/** Up to so many directories the thread is not worth its start. */
const MAX_WITHOUT_THREAD = 16;

const NEVER = new AbortController().signal;

/** A directory that could not be made: `code` is the system's, `path` is relative to the tree's root. */
export class DirectoryError extends Error {
  override readonly name = "DirectoryError";
  readonly code: string;
  readonly path: string;

  constructor(code: string, path: string) {
    super(`a directory of a project failed: ${code}`);
    this.code = code;
    this.path = path;
  }
}

/** Every directory that the files of these relative paths lie in, each after those that it lies in itself. */
export function directoriesOf(files: readonly string[]): string[] {
  const directories = new Set<string>();
  for (const file of files) {
    const added: string[] = [];
    for (let path = dirname(file); path !== "." && !directories.has(path); path = dirname(path)) added.push(path);
    for (const path of added.reverse()) directories.add(path);
  }
  return [...directories];
}

/**
 * Makes directories below `root`, in order.
 *
 * @param signal stops the work; what is made then stays.
 * @throws DirectoryError
 */
export function makeDirectories(root: string, directories: readonly string[], signal: AbortSignal): Promise<void> {
  return work("make", root, directories, signal);
}

/**
 * Removes empty directories below `root`, in the reverse order.
 *
 * @throws DirectoryError for the first that cannot be removed.
 */
export function removeDirectories(root: string, directories: readonly string[]): Promise<void> {
  return work("remove", root, directories.toReversed(), NEVER);
}

async function work(
  kind: DirectoryJob["kind"],
  root: string,
  directories: readonly string[],
  signal: AbortSignal,
): Promise<void> {
  if (directories.length > MAX_WITHOUT_THREAD) return onThread(kind, root, directories, signal);
  for (const directory of directories) {
    if (signal.aborted) return;
    try {
      await (kind === "make" ? mkdir(join(root, directory)) : rmdir(join(root, directory)));
    } catch (error) {
      throw new DirectoryError(error instanceof Error && "code" in error ? String(error.code) : "unknown", directory);
    }
  }
}

let thread: Worker | null = null;
const pending = new Map<number, PromiseWithResolvers<DirectoryAnswer>>();
let lastId = 0;

async function onThread(
  kind: DirectoryJob["kind"],
  root: string,
  directories: readonly string[],
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
    const paths = directories.map((directory) => join(root, directory));
    thread.postMessage({ id, kind, paths, stop } satisfies DirectoryJob);
    const { failure } = await answered.promise;
    if (failure !== null) throw new DirectoryError(failure.code, directories[failure.index] ?? "");
  } finally {
    pending.delete(id);
    signal.removeEventListener("abort", onAbort);
  }
}

/** One for the whole process. It does not keep the process alive; a new one takes the place of one that ends. */
function startThread(): Worker {
  const started = new Worker(new URL("directory-thread.ts", import.meta.url));
  started.unref();
  started.on("message", (answer: DirectoryAnswer) => pending.get(answer.id)?.resolve(answer));
  // What it died of comes before its end, which is what counts.
  started.on("error", () => {});
  started.on("exit", () => {
    thread = null;
    for (const { reject } of pending.values()) reject(new ServiceFailure("the thread for directories has ended"));
  });
  return started;
}
