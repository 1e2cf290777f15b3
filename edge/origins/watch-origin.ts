/**
 * Asks origins how they are: one that has a request and does not answer it, and one that has failed.
 *
 * A host that has lost power or its network sends nothing, not even that the connection is broken. So an origin that is silent
 * is asked, again and again, whether it is alive.
 */
import type { Origin } from "./origin.ts";

const PROBE_INTERVAL_MILLISECONDS = 3000;
export const PROBE_TIMEOUT_MILLISECONDS = 3000;
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
    // Not `/ready`: an origin that is about to stop finishes what it has begun.
    failedProbes = (await answersOk(origin, "/health")) ? 0 : failedProbes + 1;
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

/** Whether an origin that has failed can take renders again. */
export function isReady(origin: Origin): Promise<boolean> {
  return answersOk(origin, "/ready");
}

async function answersOk(origin: Origin, path: "/health" | "/ready"): Promise<boolean> {
  try {
    const signal = AbortSignal.timeout(PROBE_TIMEOUT_MILLISECONDS);
    const response = await origin.fetch(path, { signal, redirect: "manual" });
    await response.body?.cancel();
    return response.ok;
  } catch {
    return false;
  }
}
