/** A lock, so that only one set-up runs at a time: another one waits until the first has finished or died. */
import { randomUUID } from "node:crypto";
import { mkdir, readdir, rm, stat, utimes, writeFile } from "node:fs/promises";
import { hostname } from "node:os";
import path from "node:path";
import { say, withProgress } from "./report.mjs";

const POLL_MILLISECONDS = 250;
const HEARTBEAT_MILLISECONDS = 5_000;
/** Twelve missed heartbeats. A reused process id can make a dead holder look alive, but no longer than this. */
const STALE_MILLISECONDS = 60_000;

/**
 * Node has no lock that the system releases when a process dies. So whoever wants it makes a file that nobody else has, named
 * after its process, and holds the lock if it then sees no other's. A holder touches its file every few seconds; it is stale
 * when the holder is dead, or has not touched it. Anybody may remove a stale one: no other can come in its place.
 *
 * @template T @param {string} file the beginning of the names @param {string} purpose @param {AbortSignal} signal
 * @param {() => Promise<T>} action
 */
export async function withLock(file, purpose, signal, action) {
  await mkdir(path.dirname(file), { recursive: true });
  const claim = [file, process.pid, randomUUID(), encodeURIComponent(hostname())].join(",");
  const waiting = waitForLock(file, claim, purpose, signal);
  await withProgress((elapsed) => `still waiting for the other set-up: ${elapsed}`, waiting);
  const touch = () => void utimes(claim, new Date(), new Date()).catch(() => {});
  const heartbeat = setInterval(touch, HEARTBEAT_MILLISECONDS);
  try {
    return await action();
  } finally {
    clearInterval(heartbeat);
    await rm(claim, { force: true });
  }
}

/** @param {string} file @param {string} claim @param {string} purpose @param {AbortSignal} signal */
async function waitForLock(file, claim, purpose, signal) {
  for (let tries = 0; !(await tryLock(file, claim)); tries++) {
    // Of two that come at the same moment both give way once.
    if (tries === 1) say(`waiting for another set-up ${purpose} (${file})`);
    await new Promise((resolve) => setTimeout(resolve, POLL_MILLISECONDS * (1 + Math.random())));
    signal.throwIfAborted();
  }
}

/** @param {string} file @param {string} claim */
async function tryLock(file, claim) {
  if (await isClaimed(file)) return false;
  await writeFile(claim, "");
  if (!(await isClaimed(file, path.basename(claim)))) return true;
  await rm(claim, { force: true });
  return false;
}

/** Whether anybody has a claim that is not stale. @param {string} file @param {string} [own] the name of the claim that does not count */
async function isClaimed(file, own) {
  const folder = path.dirname(file);
  const prefix = `${path.basename(file)},`;
  const names = (await readdir(folder)).filter((name) => name.startsWith(prefix) && name !== own);
  const others = names.map((name) => path.join(folder, name));
  const stale = await Promise.all(others.map(isStale));
  await Promise.all(others.filter((_, index) => stale[index]).map((claim) => rm(claim, { force: true })));
  return stale.includes(false);
}

/** @param {string} claim */
async function isStale(claim) {
  const touched = await stat(claim).catch(() => undefined);
  if (touched === undefined || Date.now() - touched.mtimeMs > STALE_MILLISECONDS) return true;
  const [, holder, , host] = path.basename(claim).split(",");
  // The process ids of another host mean nothing here.
  if (host !== encodeURIComponent(hostname())) return false;
  try {
    process.kill(Number(holder), 0);
    return false;
  } catch (error) {
    // With EPERM, the process exists and belongs to another user.
    return error instanceof Error && "code" in error && error.code === "ESRCH";
  }
}
