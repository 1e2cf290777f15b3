/**
 * What happened in a simulation, as somebody who sees edges, backends and network at once would write it down. The
 * invariants are checked against this, never against what the code under test believes.
 */
import type { PlannedRequest } from "./schedule.ts";

/** One origin asked once. */
export interface AttemptFacts {
  readonly edge: number;
  readonly backend: number;
  readonly beganAt: number;
  /** What was left of the patience when it began. */
  readonly remainingMilliseconds: number;
  /** Whether the whole body was sent before the end. */
  isSent: boolean;
  end: AttemptEnd | null;
  endedAt: number;
}

/** "gone": the client left. "unanswered": broken off, refused, or given up. */
export type AttemptEnd = "answered" | "full" | "draining" | "unusable" | "unanswered" | "gone";

export interface AnswerFacts {
  readonly at: number;
  readonly status: number;
  readonly retryAfterSeconds: number | null;
  /** Whether the process that answered has completed this very render. */
  readonly isRendered: boolean;
}

export interface RequestFacts {
  readonly planned: PlannedRequest;
  readonly attempts: AttemptFacts[];
  readonly answers: AnswerFacts[];
  /** When its body was complete and valid; null before. */
  forwardedAt: number | null;
  deadline: number;
  leftAt: number | null;
  /** From then on the edge does not continue it. */
  isGone: boolean;
  /** No memory for the body at the edge, and how many bytes other bodies held then. */
  refusedWithOthersBytes: number | null;
  /** Another request took the memory of its body, which an origin had. */
  isBodyTaken: boolean;
  /** Backends that it has brought down. */
  broughtDown: number;
}

/** A time in which something kept a backend from serving an edge, and for a moment after. */
interface Disturbance {
  readonly cause: string;
  readonly backend: number;
  /** Null for all edges. */
  readonly edge: number | null;
  readonly from: number;
  to: number;
}

export class Disturbances {
  readonly #all: Disturbance[] = [];

  /** @returns ends it. */
  begin(cause: string, now: number, backend: number, edge: number | null = null): (now: number) => void {
    const disturbance = { cause, backend, edge, from: now, to: Number.POSITIVE_INFINITY };
    this.#all.push(disturbance);
    return (end) => {
      disturbance.to = Math.min(disturbance.to, end);
    };
  }

  /** Whether a backend could serve an edge at every moment of a time. */
  isClear(edge: number, backend: number, from: number, to: number): boolean {
    return !this.#all.some(
      (one) => one.backend === backend && (one.edge ?? edge) === edge && one.from <= to && one.to >= from,
    );
  }

  /** When the last one ended. */
  clearSince(edge: number, backend: number): number {
    let latest = Number.NEGATIVE_INFINITY;
    for (const one of this.#all) {
      if (one.backend === backend && (one.edge ?? edge) === edge) latest = Math.max(latest, one.to);
    }
    return latest;
  }
}
