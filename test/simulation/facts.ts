/** What really happened in a simulation. The invariants are checked against this, not against what the code assumes. */
import type { BackendLoad } from "../../protocol/headers.ts";
import type { PlannedRequest } from "./schedule.ts";

/** One attempt at one backend. */
export interface AttemptFacts {
  readonly edge: number;
  readonly backend: number;
  readonly beganAt: number;
  /** What its edge had seen of the backend, which is forgotten when it is no longer listed. */
  readonly seen: Seen;
  /** How much of the time budget was left when it began, and how much of that the backend was told. */
  readonly remainingMilliseconds: number;
  readonly timeBudgetMilliseconds: number;
  /** Whether a connection took something of the body, and all of it but a few bytes, before the end. */
  isBegun: boolean;
  isSent: boolean;
  sentAt: number;
  end: AttemptEnd | null;
  endedAt: number;
  /** What a full backend said. */
  retryAfterSeconds: number;
  /** Whether the edge has dropped the answer. */
  isDiscarded: boolean;
}

/**
 * "gone": the client left. "unanswered": the connection broke or was refused, or the edge gave up. "refused": the
 * request is at fault.
 */
export type AttemptEnd = "answered" | "full" | "draining" | "refused" | "unusable" | "unanswered" | "gone";

export interface AnswerFacts {
  readonly at: number;
  readonly status: number;
  readonly retryAfterSeconds: number | null;
  /** Whether the process that answered has really completed this render. */
  readonly isRendered: boolean;
}

export class RequestFacts {
  readonly planned: PlannedRequest;
  readonly attempts: AttemptFacts[] = [];
  readonly answers: AnswerFacts[] = [];
  /** When its body was complete and valid; null before. */
  forwardedAt: number | null = null;
  /** It moves by what uploads take. */
  deadline = Number.POSITIVE_INFINITY;
  extendedMilliseconds = 0;
  /** Whether its client has left: the edge has stopped working on it. */
  isGone = false;
  /** How many bytes of its body the edge has in memory. */
  heldBytes = 0;
  /** Whether the edge refused it for lack of memory. */
  isWithoutMemory = false;
  /** Whether the memory of its body is free, and whether another request took it. */
  isBodyFree = false;
  isBodyTaken = false;
  /** How many timers of its attempts fired after the answer. */
  lateTimers = 0;
  /** Which backends had been full a moment before it was answered, or had renders. */
  wereBusy: ReadonlySet<number> = new Set();
  /** How many backends it has brought down. */
  broughtDown = 0;
  /** Fetches of its edge for it: all, those that wait for an answer, and of these its probes. */
  fetches = 0;
  waitingFetches = 0;
  waitingProbes = 0;

  constructor(planned: PlannedRequest) {
    this.planned = planned;
  }
}

/** Intervals in which something kept a backend from serving an edge, and a moment after each. */
export class Disturbances {
  readonly #all: { backend: number; edge: number | null; from: number; to: number }[] = [];

  /**
   * @param edge null for all edges
   * @returns a function that records the end.
   */
  begin(now: number, backend: number, edge: number | null = null): (now: number) => void {
    const disturbance = { backend, edge, from: now, to: Number.POSITIVE_INFINITY };
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
}

/** What an edge has seen of a backend, by renders and probes. */
export class Seen {
  /** Attempts that have no answer yet, and those of clients that left without notice. */
  open = 0;
  left = 0;
  /** Whether its last render and its last probe were answered; a full one says nothing of that. */
  isTrusted = true;
  /** Whether probes failed, how many in a row, when the last one ended, and when the newest of them was sent. */
  isLost = false;
  failedProbes = 0;
  failedAt = Number.NEGATIVE_INFINITY;
  lostAt = Number.NEGATIVE_INFINITY;
  returnedAt = Number.NEGATIVE_INFINITY;
  readonly probedAt: number[] = [];
  answeredAt = Number.NEGATIVE_INFINITY;
  fullAt = Number.NEGATIVE_INFINITY;
  /** What its last answer said, and how many renders it has been sent since. */
  toldAt = Number.NEGATIVE_INFINITY;
  isDraining = false;
  reported = 0;
  begunSince = 0;

  recordAnswer(
    beganAt: number,
    now: number,
    { isFull, isProbe, load }: { isFull: boolean; isProbe: boolean; load: BackendLoad },
  ): void {
    this.answeredAt = now;
    this.recordLoad(now, load);
    if (!isFull) this.fullAt = Number.NEGATIVE_INFINITY;
    // A probe says so even if only no slot is free.
    else if (!isProbe) this.fullAt = now;
    // What it had before a probe that failed says nothing of the time after it.
    if (beganAt < this.lostAt) return;
    if (this.isLost) this.returnedAt = now;
    this.isLost = false;
    this.failedProbes = 0;
    if (!isFull) this.isTrusted = true;
  }

  /** What it says of its load, with an answer or without. */
  recordLoad(now: number, load: BackendLoad): void {
    this.toldAt = now;
    this.isDraining = load.isDraining;
    this.reported = load.running + load.waiting;
    this.begunSince = 0;
    if (load.running + load.waiting < load.slots) this.fullAt = Number.NEGATIVE_INFINITY;
  }

  recordFailedProbe(beganAt: number, now: number): void {
    // It has answered something meanwhile.
    if (this.answeredAt > beganAt) return;
    this.lostAt = Math.max(this.lostAt, beganAt);
    // Probes that were under way together count once.
    if (beganAt < this.failedAt) return;
    this.isTrusted = false;
    this.isLost = true;
    this.failedProbes++;
    this.failedAt = now;
  }
}

/** What really happened to one caller at one process. All times are in milliseconds. */
export class CallerFacts {
  /** The requests that wait for a slot, in the order of arrival. */
  readonly asking = new Set<symbol>();
  readonly running = new Set<{ readonly beganAt: number; readonly isLent: boolean }>();
  /** The turn of its last slot. */
  latestTurn = 0;
  /** When it last asked or had a render end. */
  lastSeenAt = Number.NEGATIVE_INFINITY;
  /** The memory for its bodies. */
  bodyBytes = 0;
  readonly #ended: { readonly milliseconds: number; readonly at: number }[] = [];
  #shortest = Number.POSITIVE_INFINITY;
  #longest = 0;

  /** @param isWhole whether it was not stopped: how long it would have taken is known */
  ended(milliseconds: number, now: number, isWhole: boolean): void {
    this.#ended.push({ milliseconds, at: now });
    this.#longest = Math.max(this.#longest, milliseconds);
    if (isWhole) this.#shortest = Math.min(this.#shortest, milliseconds);
    this.lastSeenAt = now;
  }

  get hasFinished(): boolean {
    return this.#shortest < Number.POSITIVE_INFINITY;
  }

  isActive(now: number, withinMilliseconds: number): boolean {
    return this.asking.size > 0 || this.running.size > 0 || now - this.lastSeenAt <= withinMilliseconds;
  }

  /** No mean of its renders is shorter. */
  shortestAt(now: number): number {
    return Math.max(this.#shortest, this.#age(now));
  }

  /** No mean of its renders is longer; infinite if none has ended. */
  longestAt(now: number): number {
    return this.hasFinished ? Math.max(this.#longest, this.#age(now)) : Number.POSITIVE_INFINITY;
  }

  /** Slot time that has been used, of which half is forgotten in this time. */
  usedAt(now: number, halfLifeMilliseconds: number): number {
    return this.#ended.reduce(
      (sum, { milliseconds, at }) => sum + milliseconds * 0.5 ** ((now - at) / halfLifeMilliseconds),
      0,
    );
  }

  /** Of its longest render that runs. */
  #age(now: number): number {
    return Math.max(0, ...[...this.running].map(({ beganAt }) => now - beganAt));
  }
}
