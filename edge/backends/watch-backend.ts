/**
 * Watches a backend that has a render, and probes those that may have failed.
 *
 * A host that has lost power or its network sends nothing, not even a reset; and a backend may answer `/health` while its renders
 * never end. So a probe is a small render of the edge's own (docs/decisions/probes-are-renders.md).
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

/** Watches a backend that has a render. @returns a function that stops it. */
export function watchBackend({ clock, deadline, probe, isHopeless, giveUp }: Watched): () => void {
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

export interface Probing<Backend> {
  readonly backends: readonly Backend[];
  readonly choice: BackendChoice;
  readonly clock: WallClock;
  /** Sends a small render. It rejects when the answer does not come in time. */
  sendProbe(backend: Backend, timeoutMilliseconds: number): Promise<BackendAnswer<unknown>>;
  /** Reports to the operator that a backend was full, or did not answer. */
  report(backend: Backend, cause: string, isFull?: boolean): void;
}

/** Sends the probes that are due. */
export async function probeDueBackends<Backend>(probing: Probing<Backend>): Promise<void> {
  const { backends, choice, clock } = probing;
  const probes = choice.takeDue(clock.now()).map(async (probe) => {
    const backend = backends[probe.backend];
    if (backend === undefined) throw new RangeError(`there is no backend ${probe.backend}`);
    const result = await probeBackend(probing, backend);
    // Not in one expression: the time is that of the result.
    choice.probed(probe, clock.now(), result);
  });
  await Promise.all(probes);
}

async function probeBackend<Backend>(
  { sendProbe, report }: Probing<Backend>,
  backend: Backend,
): Promise<AttemptResult> {
  try {
    const answer = await sendProbe(backend, PROBE_TIMEOUT_MILLISECONDS);
    const result = probeResultOf(answer);
    if (result.kind === "failed") report(backend, `probe: ${causeOf(answer)}`);
    return result;
  } catch (error) {
    report(backend, `probe: ${error}`);
    return { kind: "failed" };
  }
}
