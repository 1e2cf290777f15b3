/**
 * Watches an origin that has a request and does not answer it: a host that has lost power or its network sends nothing, not
 * even that the connection is broken. So after a while, and again and again, the origin is asked whether it is alive.
 */
import type { Origin } from "./origin.ts";

const PROBE_INTERVAL_MILLISECONDS = 3000;
const PROBE_TIMEOUT_MILLISECONDS = 3000;
/** A busy backend may miss one. */
const MAX_FAILED_PROBES = 2;

/**
 * Calls `giveUp` when the origin answers nothing any more, or at the deadline.
 *
 * @param deadline in milliseconds since 1970
 * @returns stops watching.
 */
export function watchOrigin(origin: Origin, deadline: number, giveUp: () => void): () => void {
  let failedProbes = 0;
  let isOver = false;
  const probe = async () => {
    if (Date.now() >= deadline) return giveUp();
    failedProbes = (await isAlive(origin)) ? 0 : failedProbes + 1;
    if (isOver) return;
    if (failedProbes >= MAX_FAILED_PROBES) return giveUp();
    timer = schedule();
  };
  const schedule = () => {
    const milliseconds = Math.min(PROBE_INTERVAL_MILLISECONDS, Math.max(0, deadline - Date.now()));
    return setTimeout(() => void probe(), milliseconds);
  };
  let timer = schedule();
  return () => {
    isOver = true;
    clearTimeout(timer);
  };
}

async function isAlive(origin: Origin): Promise<boolean> {
  try {
    const signal = AbortSignal.timeout(PROBE_TIMEOUT_MILLISECONDS);
    const response = await origin.fetch("/health", { signal, redirect: "manual" });
    await response.body?.cancel();
    return response.ok;
  } catch {
    return false;
  }
}
