/**
 * The thread that makes and removes directories for requests whose keys name thousands of them, and removes directories
 * with thousands of files. Jobs take turns, so that a small one does not wait for a large one.
 *
 * A request of 35 KB can have 64 keys of 250 folders each: 16,000 directories. From the event loop they take 1.3 to
 * 24 s, here 0.2 to 0.5 s. Their paths are 8 MB of text, so they are built here as well.
 */
import { mkdirSync, opendirSync, rmdirSync, unlinkSync } from "node:fs";
import { setImmediate as nextTurn } from "node:timers/promises";
import { parentPort } from "node:worker_threads";
import { errorCode } from "../error-log.ts";
import { type DirectoryAnswer, type DirectoryJob, directoriesOf } from "./directory-tree.ts";

const STEPS_PER_TURN = 200;
const ACTS = { make: mkdirSync, remove: rmdirSync, "remove-files": unlinkSync } as const;

parentPort?.on("message", (job: DirectoryJob) => {
  void carryOut(job).then((failure) => parentPort?.postMessage({ id: job.id, failure } satisfies DirectoryAnswer));
});

async function carryOut(job: DirectoryJob): Promise<DirectoryAnswer["failure"]> {
  const { kind, root, stop } = job;
  let steps = 0;
  let failing = "";
  try {
    for (const path of pathsOf(job)) {
      if (steps++ % STEPS_PER_TURN === 0) await nextTurn();
      if (Atomics.load(new Uint8Array(stop), 0) !== 0) return null;
      failing = path;
      try {
        ACTS[kind](`${root}/${path}`);
      } catch (error) {
        // If the job that made the directories was stopped, some do not exist.
        if (kind === "make" || errorCode(error) !== "ENOENT") throw error;
      }
    }
    if (kind === "remove-files") rmdirSync(root);
    return null;
  } catch (error) {
    return { code: errorCode(error), path: failing };
  }
}

function* pathsOf({ kind, root, files }: DirectoryJob): Generator<string, void, void> {
  if (kind !== "remove-files") {
    const directories = directoriesOf(files);
    yield* kind === "make" ? directories : directories.reverse();
    return;
  }
  // Read in parts, because there may be more than fit into memory. A file system may pass over some while others are
  // removed, so it is read until nothing is left.
  for (let hasFiles = true; hasFiles; ) {
    hasFiles = false;
    const directory = opendirSync(root, { bufferSize: STEPS_PER_TURN });
    try {
      for (let entry = directory.readSync(); entry !== null; entry = directory.readSync()) {
        hasFiles = true;
        yield entry.name;
      }
    } finally {
      directory.closeSync();
    }
  }
}
