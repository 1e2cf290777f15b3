/**
 * Watches a backend that has a render, and probes those that may have failed.
 *
 * A host that has lost power or its network sends nothing, not even a reset; and a backend may answer `/health` while
 * its renders never end. So a probe is a small render of the edge's own (docs/decisions/probes-are-renders.md).
 */
import type { WallClock } from "../clock.ts";
import { type BackendAnswer, causeOf, probeResultOf } from "./backend-answer.ts";
import { type AttemptResult, type BackendChoice, PROBE_TIMEOUT_MILLISECONDS } from "./backend-choice.ts";

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
  giveUp(): void;
}

export interface Watch {
  setDeadline(deadline: number): void;
  stop(): void;
}

/** Watches a backend that has a render, until it is stopped. */
export function watchBackend({ clock, deadline, probe, isHopeless, giveUp }: Watched): Watch {
  const giveUpAt = (time: number) => clock.after(Math.max(0, time - clock.now()), giveUp);
  let cancelDeadline = giveUpAt(deadline);
  const look = () => {
    if (isHopeless()) return giveUp();
    probe();
    cancelLook = clock.after(LOOK_INTERVAL_MILLISECONDS, look);
  };
  let cancelLook = clock.after(LOOK_INTERVAL_MILLISECONDS, look);
  return {
    setDeadline: (later) => {
      cancelDeadline();
      cancelDeadline = giveUpAt(later);
    },
    stop: () => {
      cancelDeadline();
      cancelLook();
    },
  };
}

export interface Probing<Backend extends NonNullable<unknown>> {
  readonly choice: BackendChoice<Backend>;
  readonly clock: WallClock;
  /** Sends a small render. It rejects when the answer does not come in time. */
  sendProbe(backend: Backend, timeoutMilliseconds: number): Promise<BackendAnswer<unknown>>;
  /** Reports to the operator that a backend was full, or did not answer. */
  report(backend: Backend, cause: string, isFull?: boolean): void;
}

/** Sends the probes that are due. The operator hears when one takes a backend out of use, not that it stays so. */
export async function probeDueBackends<Backend extends NonNullable<unknown>>(probing: Probing<Backend>): Promise<void> {
  const { choice, clock, report } = probing;
  const probes = choice.takeDue(clock.now()).map(async (probe) => {
    const { backend } = probe;
    const { result, cause } = await probeBackend(probing, backend);
    const isNews = !choice.isOutOfUse(backend);
    choice.probed(probe, clock.now(), result);
    if (cause !== null && isNews) report(backend, `probe: ${cause}`);
  });
  await Promise.all(probes);
}

interface ProbeEnd {
  readonly result: AttemptResult;
  /** Why it has failed; null if it has not. */
  readonly cause: string | null;
}

async function probeBackend<Backend extends NonNullable<unknown>>(
  { sendProbe }: Probing<Backend>,
  backend: Backend,
): Promise<ProbeEnd> {
  try {
    const answer = await sendProbe(backend, PROBE_TIMEOUT_MILLISECONDS);
    const result = probeResultOf(answer);
    return { result, cause: result.kind === "failed" ? causeOf(answer) : null };
  } catch (error) {
    return { result: { kind: "failed" }, cause: String(error) };
  }
}
