/**
 * The thread that makes and removes directories by the thousand, for requests whose keys name that many.
 *
 * 64 keys of 250 folders each are a request of 35 KB and 16,000 directories. Made one by one from the event loop, each
 * waits for a thread of the pool: 1.3 to 24 s in all, where this thread needs 0.2 to 0.5 s (measured). Their paths alone are
 * 8 MB of text, so they are put together here as well.
 *
 * It answers each `DirectoryJob` with a `DirectoryAnswer`. Jobs take turns, so that a small one does not wait for
 * a large one to end.
 */
import { mkdirSync, rmdirSync } from "node:fs";
import { parentPort } from "node:worker_threads";
import { directoriesOf } from "./directory-paths.ts";

export interface DirectoryJob {
  readonly id: number;
  readonly kind: "make" | "remove";
  readonly root: string;
  /** The relative paths of the files that lie in the directories. */
  readonly files: readonly string[];
  /** One byte of shared memory; not zero once the job is no longer wanted. */
  readonly stop: SharedArrayBuffer;
}

export interface DirectoryAnswer {
  readonly id: number;
  /** The code of the system's error that ended the job, and the directory; null if all was done or stopped. */
  readonly failure: { readonly code: string; readonly path: string } | null;
}

/** Directories of one job between those of the others. */
const DIRECTORIES_PER_TURN = 200;

interface Work {
  readonly job: DirectoryJob;
  readonly directories: readonly string[];
  /** The index of the next directory. */
  next: number;
}

const works: Work[] = [];

parentPort?.on("message", (job: DirectoryJob) => {
  const directories = directoriesOf(job.files);
  works.push({ job, directories: job.kind === "make" ? directories : directories.reverse(), next: 0 });
  if (works.length === 1) setImmediate(takeTurn);
});

function takeTurn(): void {
  const work = works.shift();
  if (work === undefined) return;
  const failure = proceed(work);
  if (failure === null && work.next < work.directories.length) works.push(work);
  else parentPort?.postMessage({ id: work.job.id, failure } satisfies DirectoryAnswer);
  // New jobs are heard of in between.
  if (works.length > 0) setImmediate(takeTurn);
}

function proceed(work: Work): DirectoryAnswer["failure"] {
  const { job, directories } = work;
  if (Atomics.load(new Uint8Array(job.stop), 0) !== 0) {
    work.next = directories.length;
    return null;
  }
  const turn = directories.slice(work.next, work.next + DIRECTORIES_PER_TURN);
  work.next += turn.length;
  for (const directory of turn) {
    const path = `${job.root}/${directory}`;
    try {
      if (job.kind === "make") mkdirSync(path);
      else rmdirSync(path);
    } catch (error) {
      const code = error instanceof Error && "code" in error ? String(error.code) : "unknown";
      // A job that was stopped while it made directories has not made them all.
      if (job.kind === "make" || code !== "ENOENT") return { code, path: directory };
    }
  }
  return null;
}
