/**
 * Probes origins: one that has a request and does not answer it, and one that has failed.
 *
 * A host that has lost power or its network sends nothing, not even a reset. So while an origin is silent, it is asked again and
 * again whether it is alive.
 */
import type { Clock } from "../clock.ts";
import type { OriginChoice } from "./origin-choice.ts";

const PROBE_INTERVAL_MILLISECONDS = 3000;
const PROBE_TIMEOUT_MILLISECONDS = 3000;
/** A busy backend may miss one probe. */
const MAX_FAILED_PROBES = 2;
/** Allows for delays in workerd. A probe that has no result by then is considered lost. */
const SLACK_MILLISECONDS = 1000;

export interface Watched {
  readonly clock: Clock;
  /** In milliseconds since 1970. */
  readonly deadline: number;
  /**
   * Asks the origin whether it is alive. Resolves with false when it does not answer in time. Not `/ready`: an origin that is
   * about to stop finishes what it has begun.
   */
  isAlive(timeoutMilliseconds: number): Promise<boolean>;
  /** Called when the origin no longer answers probes, or at the deadline. */
  giveUp(): void;
}

/** Watches an origin that has a request. @returns a function that stops it. */
export function watchOrigin({ clock, deadline, isAlive, giveUp }: Watched): () => void {
  let failedProbes = 0;
  let isOver = false;
  // A separate timer, because a probe that waits for its answer must not delay the deadline.
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

export interface Probing<Origin> {
  readonly origins: readonly Origin[];
  readonly choice: OriginChoice;
  readonly clock: Clock;
  /** Asks the origin whether it takes renders. Resolves with false when it does not answer in time. */
  isReady(origin: Origin, timeoutMilliseconds: number): Promise<boolean>;
}

/** Probes an origin that has failed, if a probe is due. No render waits for the answer. */
export async function probeDueOrigin<Origin>({ origins, choice, clock, isReady }: Probing<Origin>): Promise<void> {
  const index = choice.takeDue(clock.now(), PROBE_TIMEOUT_MILLISECONDS + SLACK_MILLISECONDS);
  const origin = index === null ? undefined : origins[index];
  if (index === null || origin === undefined) return;
  const isWell = await isReady(origin, PROBE_TIMEOUT_MILLISECONDS);
  choice.probed(index, clock.now(), isWell);
}
