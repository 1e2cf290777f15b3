/**
 * Watches an origin that has a render, and probes those that may have failed.
 *
 * A host that has lost power or its network sends nothing, not even a reset; and a backend may answer `/health` while its renders
 * never end. So a probe is a small render of the edge's own (docs/decisions/probes-are-renders.md).
 */
import type { Clock } from "../clock.ts";
import { causeOf, type OriginAnswer, probeResultOf } from "./origin-answer.ts";
import { type AttemptResult, type OriginChoice, PROBE_TIMEOUT_MILLISECONDS } from "./origin-choice.ts";

const LOOK_INTERVAL_MILLISECONDS = 1000;

export interface Watched {
  readonly clock: Clock;
  /** In milliseconds since 1970. */
  readonly deadline: number;
  /** Sends the probes that are due. */
  probe(): void;
  /** Whether to give up on the origin. */
  isHopeless(): boolean;
  /** Called when `isHopeless` says so, or at the deadline. */
  giveUp(): void;
}

/** Watches an origin that has a render. @returns a function that stops it. */
export function watchOrigin({ clock, deadline, probe, isHopeless, giveUp }: Watched): () => void {
  const cancelDeadline = clock.after(Math.max(0, deadline - clock.now()), giveUp);
  const look = () => {
    if (isHopeless()) return giveUp();
    probe();
    cancelLook = clock.after(LOOK_INTERVAL_MILLISECONDS, look);
  };
  let cancelLook = clock.after(LOOK_INTERVAL_MILLISECONDS, look);
  return () => {
    cancelDeadline();
    cancelLook();
  };
}

export interface Probing<Origin> {
  readonly origins: readonly Origin[];
  readonly choice: OriginChoice;
  readonly clock: Clock;
  /** Sends a small render. It rejects when the answer does not come in time. */
  sendProbe(origin: Origin, timeoutMilliseconds: number): Promise<OriginAnswer<unknown>>;
  /** Reports to the operator that an origin was full, or did not answer. */
  report(origin: Origin, cause: string, isFull?: boolean): void;
}

/** Sends the probes that are due. */
export async function probeDueOrigins<Origin>(probing: Probing<Origin>): Promise<void> {
  const { origins, choice, clock } = probing;
  const probes = choice.takeDue(clock.now()).map(async (probe) => {
    const origin = origins[probe.origin];
    if (origin === undefined) throw new RangeError(`there is no origin ${probe.origin}`);
    choice.probed(probe, clock.now(), await probeOrigin(probing, origin));
  });
  await Promise.all(probes);
}

async function probeOrigin<Origin>({ sendProbe, report }: Probing<Origin>, origin: Origin): Promise<AttemptResult> {
  try {
    const answer = await sendProbe(origin, PROBE_TIMEOUT_MILLISECONDS);
    const result = probeResultOf(answer);
    if (result.kind === "failed") report(origin, `probe: ${causeOf(answer)}`);
    return result;
  } catch (error) {
    report(origin, `probe: ${error}`);
    return { kind: "failed" };
  }
}
