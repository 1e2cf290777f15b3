/** A lock, so that only one set-up runs at a time: another one waits until the first has finished or died. */
import { randomUUID } from "node:crypto";
import { link, mkdir, readFile, rename, rm, stat, utimes, writeFile } from "node:fs/promises";
import { hostname } from "node:os";
import path from "node:path";
import { say, withProgress } from "./report.mjs";

const POLL_MILLISECONDS = 250;
const HEARTBEAT_MILLISECONDS = 5_000;
/** Twelve missed heartbeats. A reused process id can make a dead holder look alive, but no longer than this. */
const STALE_MILLISECONDS = 60_000;

/**
 * Node has no lock that the system releases when a process dies. So the file names its holder, which touches it every
 * few seconds; it is stale when the holder is dead, or has not touched it.
 *
 * @template T @param {string} file @param {string} purpose @param {AbortSignal} signal @param {() => Promise<T>} action
 */
export async function withLock(file, purpose, signal, action) {
  await mkdir(path.dirname(file), { recursive: true });
  const claim = `${process.pid} ${hostname()} ${randomUUID()}`;
  if (!(await tryLock(file, claim))) {
    say(`waiting for another set-up ${purpose} (${file})`);
    await withProgress((elapsed) => `still waiting for the other set-up: ${elapsed}`, waitForLock(file, claim, signal));
  }
  const touch = () => void utimes(file, new Date(), new Date()).catch(() => {});
  const heartbeat = setInterval(touch, HEARTBEAT_MILLISECONDS);
  try {
    return await action();
  } finally {
    clearInterval(heartbeat);
    // Another set-up may have taken the lock over, for example after this computer was suspended.
    if ((await readText(file)) === claim) await rm(file, { force: true });
  }
}

/** @param {string} file @param {string} claim @param {AbortSignal} signal */
async function waitForLock(file, claim, signal) {
  do {
    await new Promise((resolve) => setTimeout(resolve, POLL_MILLISECONDS));
    signal.throwIfAborted();
  } while (!(await tryLock(file, claim)));
}

/** @param {string} file @param {string} claim */
async function tryLock(file, claim) {
  const seen = await readText(file);
  if (seen !== undefined && (await isStale(file, seen))) {
    // Renamed before it is removed: of two that find it stale, the slower may take away the new lock of the faster. It
    // sees that in the content, and puts the lock back.
    const moved = `${file}.${randomUUID()}`;
    await rename(file, moved).catch(() => {});
    const taken = await readText(moved);
    if (taken !== undefined && taken !== seen) await link(moved, file).catch(() => {});
    await rm(moved, { force: true });
  }
  try {
    await writeFile(file, claim, { flag: "wx" });
    return true;
  } catch (error) {
    if (hasCode(error, "EEXIST")) return false;
    throw error;
  }
}

/** @param {string} file @param {string} claim */
async function isStale(file, claim) {
  const touched = await stat(file).catch(() => undefined);
  if (touched === undefined) return false;
  if (Date.now() - touched.mtimeMs > STALE_MILLISECONDS) return true;
  const [holder, host] = claim.split(" ");
  // The process ids of another host mean nothing here, and an empty file is still being written by its holder.
  if (host !== hostname()) return false;
  try {
    process.kill(Number(holder), 0);
    return false;
  } catch (error) {
    // With EPERM, the process exists and belongs to another user.
    return hasCode(error, "ESRCH");
  }
}

/** @param {unknown} error @param {string} code */
const hasCode = (error, code) => error instanceof Error && "code" in error && error.code === code;

/** @param {string} file */
const readText = (file) => readFile(file, "utf8").catch(() => undefined);
