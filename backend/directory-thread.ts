/**
 * The thread that makes and removes directories by the thousand, for projects whose keys name that many.
 *
 * 64 keys of 250 folders each are a request of 35 KB and 16,000 directories. Made one by one from the event loop, each
 * waits for a thread of the pool: 1.3 to 24 s in all, where this thread needs 0.2 to 0.5 s (measured). Even their paths are
 * put together here: 8 MB of text.
 *
 * Sent a `DirectoryJob`, it answers each with a `DirectoryAnswer`, in order.
 */
import { mkdirSync, rmdirSync } from "node:fs";
import { join } from "node:path";
import { parentPort } from "node:worker_threads";
import { directoriesOf } from "./directory-paths.ts";

export interface DirectoryJob {
  readonly id: number;
  readonly kind: "make" | "remove";
  readonly root: string;
  /** The relative paths of the files whose directories are meant. */
  readonly files: readonly string[];
  /** One byte of shared memory; not zero once the job is not wanted any more. */
  readonly stop: SharedArrayBuffer;
}

export interface DirectoryAnswer {
  readonly id: number;
  /** The code of the system's error that ended the job, and the directory; null where all was done or stopped. */
  readonly failure: { readonly code: string; readonly path: string } | null;
}

parentPort?.on("message", (job: DirectoryJob) => {
  parentPort?.postMessage({ id: job.id, failure: run(job) } satisfies DirectoryAnswer);
});

function run({ kind, root, files, stop }: DirectoryJob): DirectoryAnswer["failure"] {
  const directories = directoriesOf(files);
  const stopped = new Uint8Array(stop);
  for (const path of kind === "make" ? directories : directories.reverse()) {
    if (Atomics.load(stopped, 0) !== 0) return null;
    try {
      if (kind === "make") mkdirSync(join(root, path));
      else rmdirSync(join(root, path));
    } catch (error) {
      const code = error instanceof Error && "code" in error ? String(error.code) : "unknown";
      // One that was stopped while it was made has not made them all.
      if (kind === "make" || code !== "ENOENT") return { code, path };
    }
  }
  return null;
}
