/**
 * Watches a backend that has a render, and probes those that may have failed.
 *
 * A host that has lost power or its network sends nothing, not even a reset; and a backend may answer `/health` while
 * its renders never end. So a probe is a small render of the edge's own (docs/decisions/probes-are-renders.md).
 */
import type { WallClock } from "../clock.ts";
import {
  type AttemptResult,
  type FailedAttempt,
  failedAttempt,
  type ResponseHead,
  readProbeAnswer,
} from "./backend-answer.ts";
import { type BackendChoice, PROBE_TIMEOUT_MILLISECONDS } from "./backend-choice.ts";

const LOOK_INTERVAL_MILLISECONDS = 1000;

export interface Watched {
  readonly clock: WallClock;
  /** In milliseconds since 1970. */
  readonly deadline: number;
  /** Sends the probes that are due. */
  probe(): void;
  /** Whether to abandon the backend. */
  isHopeless(): boolean;
  /** Called when `isHopeless` says so, or at the deadline. */
  abort(): void;
}

export interface Watch {
  setDeadline(deadline: number): void;
  stop(): void;
}

/** Watches a backend that has a render, until it is stopped. */
export function watchBackend({ clock, deadline, probe, isHopeless, abort }: Watched): Watch {
  const abortAt = (time: number) => clock.after(Math.max(0, time - clock.now()), abort);
  let cancelDeadline = abortAt(deadline);
  const look = () => {
    if (isHopeless()) return abort();
    probe();
    cancelLook = clock.after(LOOK_INTERVAL_MILLISECONDS, look);
  };
  let cancelLook = clock.after(LOOK_INTERVAL_MILLISECONDS, look);
  return {
    setDeadline: (later) => {
      cancelDeadline();
      cancelDeadline = abortAt(later);
    },
    stop: () => {
      cancelDeadline();
      cancelLook();
    },
  };
}

export interface Probing<Target extends NonNullable<unknown>> {
  readonly choice: BackendChoice<Target>;
  readonly clock: WallClock;
  /** Sends a small render. It rejects when the answer does not come in time. */
  sendProbe(backend: Target, timeoutMilliseconds: number): Promise<ResponseHead>;
  /** Reports to the operator that a backend was full, or did not answer. */
  report(backend: Target, result: FailedAttempt): void;
}

/** Sends the probes that are due. The operator hears when one takes a backend out of use, not that it stays so. */
export async function probeDueBackends<Target extends NonNullable<unknown>>(probing: Probing<Target>): Promise<void> {
  const { choice, clock, report } = probing;
  const probes = choice.takeDue(clock.now()).map(async (probe) => {
    const { backend } = probe;
    const result = await probeBackend(probing, backend);
    const wasOutOfUse = choice.isOutOfUse(backend);
    choice.recordProbe(probe, clock.now(), result);
    const isNews = !wasOutOfUse && choice.isOutOfUse(backend);
    if (isNews && result.kind === "failed") report(backend, { ...result, reason: `probe: ${result.reason}` });
  });
  await Promise.all(probes);
}

async function probeBackend<Target extends NonNullable<unknown>>(
  { sendProbe }: Probing<Target>,
  backend: Target,
): Promise<AttemptResult> {
  try {
    return readProbeAnswer(await sendProbe(backend, PROBE_TIMEOUT_MILLISECONDS));
  } catch (error) {
    return failedAttempt("unreachable", error);
  }
}
