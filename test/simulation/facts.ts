/**
 * What really happened in a simulation, as an observer of edges, backends and network would record it. The invariants are checked
 * against this, never against what the code under test assumes.
 */
import type { PlannedRequest } from "./schedule.ts";

/** One attempt at one origin. */
export interface AttemptFacts {
  readonly edge: number;
  readonly backend: number;
  readonly beganAt: number;
  /** How much of the patience was left when it began. */
  readonly remainingMilliseconds: number;
  /** Whether the whole body was sent before the end. */
  isSent: boolean;
  end: AttemptEnd | null;
  endedAt: number;
}

/** "gone": the client left. "unanswered": the connection broke or was refused, or the edge gave up. "refused": the request is at fault. */
export type AttemptEnd = "answered" | "full" | "draining" | "refused" | "unusable" | "unanswered" | "gone";

export interface AnswerFacts {
  readonly at: number;
  readonly status: number;
  readonly retryAfterSeconds: number | null;
  /** Whether the process that answered has really completed this render. */
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
  /** Whether the edge has stopped working on it. */
  isGone: boolean;
  /** How many bytes other bodies held when the edge refused it for lack of memory; null if it did not. */
  refusedWithOthersBytes: number | null;
  /** Whether another request took the memory of its body. */
  isBodyTaken: boolean;
  /** Backends that it has brought down. */
  broughtDown: number;
}

/** An interval in which something kept a backend from serving an edge, and a moment after it. */
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

  /** @returns a function that records the end. */
  begin(cause: string, now: number, backend: number, edge: number | null = null): (now: number) => void {
    const disturbance = { cause, backend, edge, from: now, to: Number.POSITIVE_INFINITY };
    this.#all.push(disturbance);
    return (end) => {
      disturbance.to = Math.min(disturbance.to, end);
    };
  }

  /** Whether a backend could serve an edge throughout an interval. */
  isClear(edge: number, backend: number, from: number, to: number): boolean {
    return !this.#all.some(
      (one) => one.backend === backend && (one.edge ?? edge) === edge && one.from <= to && one.to >= from,
    );
  }

  /** When the last disturbance ended. */
  clearSince(edge: number, backend: number): number {
    let latest = Number.NEGATIVE_INFINITY;
    for (const one of this.#all) {
      if (one.backend === backend && (one.edge ?? edge) === edge) latest = Math.max(latest, one.to);
    }
    return latest;
  }
}
