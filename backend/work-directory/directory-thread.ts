/**
 * The thread that makes and removes directories for requests whose keys name thousands of them, and removes directories
 * with thousands of files. It answers each `DirectoryJob` with a `DirectoryAnswer`. Jobs take turns, so that a small
 * one does not wait for a large one.
 *
 * A request of 35 KB can have 64 keys of 250 folders each: 16,000 directories. Made one by one from the event loop,
 * each waits for a thread of the pool: 1.3 to 24 s in all, compared with 0.2 to 0.5 s in this thread (measured
 * 2026-11-21). Their paths are 8 MB of text, so they are built here as well.
 */
import { mkdirSync, opendirSync, rmdirSync, unlinkSync } from "node:fs";
import { join } from "node:path";
import { parentPort } from "node:worker_threads";
import { directoriesOf } from "./paths.ts";

export interface DirectoryJob {
  readonly id: number;
  /** `remove-files` removes the root itself, and all files in it. */
  readonly kind: "make" | "remove" | "remove-files";
  readonly root: string;
  readonly files: readonly string[];
  /** One byte of shared memory. It is set to 1 to stop the job. */
  readonly stop: SharedArrayBuffer;
}

export interface DirectoryAnswer {
  readonly id: number;
  /** The system's error code and the directory, if the job failed; null if it finished or was stopped. */
  readonly failure: { readonly code: string; readonly path: string } | null;
}

/** How many directories or files one job makes or removes before the next job's turn. */
const STEPS_PER_TURN = 200;

/** Does one step each time it is asked for the next, and yields what the step was about. */
type Steps = Generator<{ readonly path: string; readonly code: string | null }, void, void>;

interface Work {
  readonly job: DirectoryJob;
  readonly steps: Steps;
}

const works: Work[] = [];

parentPort?.on("message", (job: DirectoryJob) => {
  works.push({ job, steps: job.kind === "remove-files" ? removeFiles(job) : makeOrRemoveDirectories(job) });
  if (works.length === 1) setImmediate(takeTurn);
});

function takeTurn(): void {
  const work = works.shift();
  if (work === undefined) return;
  const result = proceed(work);
  if (result === "unfinished") works.push(work);
  else parentPort?.postMessage({ id: work.job.id, failure: result } satisfies DirectoryAnswer);
  // Messages with new jobs arrive in between.
  if (works.length > 0) setImmediate(takeTurn);
}

function proceed({ job, steps }: Work): DirectoryAnswer["failure"] | "unfinished" {
  if (Atomics.load(new Uint8Array(job.stop), 0) !== 0) return null;
  try {
    for (let step = 0; step < STEPS_PER_TURN; step++) {
      const { done, value } = steps.next();
      if (done) return null;
      const { path, code } = value;
      // If the job that made the directories was stopped, some do not exist.
      if (code !== null && (job.kind === "make" || code !== "ENOENT")) return { code, path };
    }
  } catch (error) {
    return { code: codeOf(error), path: "" };
  }
  return "unfinished";
}

function* makeOrRemoveDirectories({ kind, root, files }: DirectoryJob): Steps {
  const directories = directoriesOf(files);
  const act = kind === "make" ? mkdirSync : rmdirSync;
  for (const path of kind === "make" ? directories : directories.reverse()) {
    yield { path, code: failureOf(() => act(`${root}/${path}`)) };
  }
}

function* removeFiles({ root }: DirectoryJob): Steps {
  // Read in parts, because there may be more than fit into memory. A file system may pass over some while others are
  // removed, so it is read until nothing is left.
  for (let hasFiles = true; hasFiles; ) {
    hasFiles = false;
    const directory = opendirSync(root, { bufferSize: STEPS_PER_TURN });
    try {
      for (let entry = directory.readSync(); entry !== null; entry = directory.readSync()) {
        hasFiles = true;
        const path = entry.name;
        yield { path, code: failureOf(() => unlinkSync(join(root, path))) };
      }
    } finally {
      directory.closeSync();
    }
  }
  rmdirSync(root);
}

function failureOf(act: () => unknown): string | null {
  try {
    act();
    return null;
  } catch (error) {
    return codeOf(error);
  }
}

function codeOf(error: unknown): string {
  return error instanceof Error && "code" in error ? String(error.code) : "unknown";
}
