/**
 * Watches an origin that has a request and does not answer it: a host that has lost power or its network sends nothing, not
 * even that the connection is broken. So after a while, and again and again, the origin is asked whether it is alive.
 */
import type { Clock } from "../clock.ts";

const PROBE_INTERVAL_MILLISECONDS = 3000;
const PROBE_TIMEOUT_MILLISECONDS = 3000;
/** A busy backend may miss one. */
const MAX_FAILED_PROBES = 2;

export interface Watched {
  readonly clock: Clock;
  /** In milliseconds since 1970. */
  readonly deadline: number;
  /** Asks the origin whether it is alive. Resolves with false when it does not answer in time. */
  isAlive(timeoutMilliseconds: number): Promise<boolean>;
  /** Called when the origin answers nothing any more, or at the deadline. */
  giveUp(): void;
}

/** @returns stops watching. */
export function watchOrigin({ clock, deadline, isAlive, giveUp }: Watched): () => void {
  let failedProbes = 0;
  let isOver = false;
  // A timer of its own: a probe that waits for its answer must not put off the deadline.
  const cancelDeadline = clock.after(Math.max(0, deadline - clock.now()), giveUp);
  const probe = async () => {
    failedProbes = (await isAlive(PROBE_TIMEOUT_MILLISECONDS)) ? 0 : failedProbes + 1;
    if (isOver) return;
    if (failedProbes >= MAX_FAILED_PROBES) giveUp();
    else cancelProbe = schedule();
  };
  const schedule = () => clock.after(PROBE_INTERVAL_MILLISECONDS, () => void probe());
  let cancelProbe = schedule();
  return () => {
    isOver = true;
    cancelDeadline();
    cancelProbe();
  };
}
