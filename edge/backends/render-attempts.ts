/**
 * The attempts of one render: which backend is tried next, when to stop, and whether the client is told that the
 * service is busy or that it failed. docs/decisions/renders-are-repeated.md says why a render may be repeated.
 *
 * No clock and no I/O: times are passed in, in milliseconds.
 */
import type { AttemptFailure, CapacityCause, UnavailableCause } from "../../rules/causes.ts";
import { MAX_UPLOAD_MILLISECONDS } from "../../rules/render-time.ts";
import type { BackendChoice } from "./backend-choice.ts";

/**
 * How many attempts may cost something: the upload of the body, or a render. One that finds a backend full, or nobody
 * there, costs next to nothing and does not count the first time.
 */
const MAX_ATTEMPTS = 4;
/** How much is sent in all, if there are more attempts than that: four of the largest bodies by default. */
const MAX_BYTES_SENT = 80 * 1024 ** 2;
/** A body of this size costs more than asking backends how busy they are. */
const MIN_ASKED_BYTES = 64 * 1024;
/** How many backends are asked at once: as many connections as Cloudflare lets a request open. */
const ASKED_AT_ONCE = 6;
/** A backend that cannot be reached may just be restarting, so it is tried a second time. */
const MAX_ATTEMPTS_PER_BACKEND = 2;
export const PAUSE_BEFORE_SECOND_ROUND_MILLISECONDS = 250;
/**
 * How many backends may fail while they have the request. A request that can bring down a backend must not bring down
 * all.
 */
const MAX_LOST_BACKENDS = 2;
/**
 * Less time than this is not worth an attempt: a backend takes at least a second for a render, and leaves one for its
 * answer.
 */
export const MIN_ATTEMPT_MILLISECONDS = 2000;
/**
 * How long a request that has been sent may be under way to the backend. If the backend is idle after that, it does not
 * have it: it was started anew, or something between the two dropped it.
 */
const MAX_TRANSIT_MILLISECONDS = 5000;
const MIN_BYTES_PER_MILLISECOND = 1000;

export type NextStep<Target> =
  | { readonly kind: "try"; readonly backend: Target }
  | { readonly kind: "wait"; readonly milliseconds: number }
  /** Asks these how busy they are. */
  | { readonly kind: "ask"; readonly backends: readonly Target[] }
  /** No backend has answered, and at least one was full. */
  | { readonly kind: "busy"; readonly retryAfterSeconds: number; readonly cause: CapacityCause }
  /** No backend has answered, and none was full. */
  | { readonly kind: "failed"; readonly cause: UnavailableCause };

/** How an attempt ended without an answer for the client. */
export type FailedAttempt =
  /** The backend has no room now. */
  | { readonly kind: "busy"; readonly retryAfterSeconds: number; readonly cause: CapacityCause }
  /** The backend finds fault with a request that the edge has found valid. */
  | { readonly kind: "refused" }
  /** The backend cannot be reached, is about to stop, or is not set up. */
  | { readonly kind: "unavailable"; readonly failure: AttemptFailure }
  /** The backend was sent the whole request and did not answer. */
  | { readonly kind: "lost" };

/** An attempt that has no answer yet. */
export interface BegunAttempt<Target> {
  readonly backend: Target;
  readonly beganAt: number;
  /** When a connection had taken the whole request; infinite if it has not yet. */
  readonly sentAt: number;
  readonly bodyBytes: number;
}

export class RenderAttempts<Target extends NonNullable<unknown>> {
  readonly #choice: BackendChoice<Target>;
  #deadline: number;
  /**
   * By how much the deadline has been moved. In all attempts together it is moved by no more than one upload may take.
   */
  #extended = 0;
  readonly #bodyBytes: number;
  readonly #random: () => number;
  readonly #counts = new Map<Target, number>();
  readonly #failures: AttemptFailure[] = [];
  /** What the full backend said that will have room first. */
  #busy: Extract<FailedAttempt, { kind: "busy" }> | null = null;
  /** Backends that would give the same answer again. */
  readonly #notAgain = new Set<Target>();
  readonly #asked = new Set<Target>();
  #lost = 0;
  #attempts = 0;
  /** Those that have cost something. */
  #costly = 0;
  #bytesSent = 0;
  #hasWaited = false;

  constructor(choice: BackendChoice<Target>, deadline: number, bodyBytes: number, random: () => number) {
    this.#choice = choice;
    this.#deadline = deadline;
    this.#bodyBytes = bodyBytes;
    this.#random = random;
  }

  /** How each attempt failed so far. */
  get failures(): readonly AttemptFailure[] {
    return this.#failures;
  }

  /** When the answer must have begun: later by what uploads have taken. */
  get deadline(): number {
    return this.#deadline;
  }

  /**
   * Moves the deadline by the time that a body took to be sent, so that the backend has as much for it as it was told.
   */
  extend(milliseconds: number): void {
    const longer = Math.min(milliseconds, MAX_UPLOAD_MILLISECONDS - this.#extended);
    this.#extended += longer;
    this.#deadline += longer;
  }

  next(now: number): NextStep<Target> {
    const isOver = this.#costly >= MAX_ATTEMPTS || this.#lost >= MAX_LOST_BACKENDS;
    if (isOver || this.#deadline - now < MIN_ATTEMPT_MILLISECONDS) return this.giveUp();
    const hasHadMany = this.#attempts >= MAX_ATTEMPTS;
    if (hasHadMany && this.#bytesSent + this.#bodyBytes > MAX_BYTES_SENT) return this.giveUp();
    const leftOut = hasHadMany ? this.#choice.hopeless(now).filter((backend) => !this.#counts.has(backend)) : [];
    const untried = this.#nextUntried(now, new Set([...this.#counts.keys(), ...leftOut]));
    if (untried !== null) return untried;
    // All others have been tried. A second round makes sense only for those that may answer differently.
    const exhausted = [...this.#counts]
      .filter(([, count]) => count >= MAX_ATTEMPTS_PER_BACKEND)
      .map(([backend]) => backend);
    const again = this.#choice.choose(now, new Set([...this.#notAgain, ...exhausted, ...leftOut]), this.#random);
    if (again === null) return this.giveUp();
    if (this.#hasWaited) return { kind: "try", backend: again };
    // After the pause there would be no time for an attempt.
    if (this.#deadline - now < PAUSE_BEFORE_SECOND_ROUND_MILLISECONDS + MIN_ATTEMPT_MILLISECONDS) return this.giveUp();
    this.#hasWaited = true;
    return { kind: "wait", milliseconds: PAUSE_BEFORE_SECOND_ROUND_MILLISECONDS };
  }

  #nextUntried(now: number, excluded: ReadonlySet<Target>): NextStep<Target> | null {
    const isFirst = this.#busy === null;
    if (!isFirst && this.#bodyBytes >= MIN_ASKED_BYTES && !this.#choice.hasFreeSlot(now, excluded)) {
      const notAsked = new Set([...excluded, ...this.#asked]);
      const backends = this.#choice.unknown(now, notAsked, ASKED_AT_ONCE, this.#random);
      for (const backend of backends) this.#asked.add(backend);
      if (backends.length > 0) return { kind: "ask", backends };
    }
    const backend = isFirst
      ? this.#choice.choose(now, excluded, this.#random)
      : this.#choice.chooseCheapest(now, excluded, this.#random);
    return backend === null ? null : { kind: "try", backend };
  }

  /** Whether to abandon a backend that has the request: another attempt is possible, and more likely to be answered. */
  isHopeless({ backend, beganAt, sentAt, bodyBytes }: BegunAttempt<Target>, now: number): boolean {
    if (this.#costly + 1 >= MAX_ATTEMPTS || this.#lost + 1 >= MAX_LOST_BACKENDS) return false;
    if (this.#deadline - now < PAUSE_BEFORE_SECOND_ROUND_MILLISECONDS + MIN_ATTEMPT_MILLISECONDS) return false;
    const arrivedAt = sentAt + MAX_TRANSIT_MILLISECONDS + bodyBytes / MIN_BYTES_PER_MILLISECOND;
    if (this.#choice.wasIdleSince(backend, arrivedAt)) return true;
    return this.#choice.hasFailedSince(backend, beganAt) && this.#choice.hasInUse(now, new Set(this.#counts.keys()));
  }

  /**
   * The result when no further attempt can be made.
   *
   * @param hasBody whether the body is still there for another one
   */
  giveUp(hasBody = true): Extract<NextStep<Target>, { kind: "busy" | "failed" }> {
    if (this.#busy !== null) {
      const { retryAfterSeconds, cause } = this.#busy;
      const isAlone = this.#failures.some((failure) => failure !== "full");
      return { kind: "busy", retryAfterSeconds, cause: isAlone ? "backend_full" : cause };
    }
    if (!hasBody) return { kind: "failed", cause: "body_dropped" };
    return { kind: "failed", cause: this.#attempts === 0 ? "no_backends" : "no_backend_answered" };
  }

  begin(backend: Target): void {
    this.#attempts++;
    this.#counts.set(backend, (this.#counts.get(backend) ?? 0) + 1);
  }

  fail(backend: Target, failure: FailedAttempt): void {
    const isNobodyThere = failure.kind === "unavailable" && failure.failure === "unreachable";
    if (!isNobodyThere) this.#bytesSent += this.#bodyBytes;
    const isFree = isNobodyThere || failure.kind === "busy";
    if (!isFree || (this.#counts.get(backend) ?? 0) > 1) this.#costly++;
    switch (failure.kind) {
      case "busy":
        this.#failures.push("full");
        this.#notAgain.add(backend);
        if (failure.retryAfterSeconds < (this.#busy?.retryAfterSeconds ?? Number.POSITIVE_INFINITY))
          this.#busy = failure;
        return;
      case "refused":
        this.#failures.push("refused_request");
        this.#notAgain.add(backend);
        return;
      case "lost":
        this.#failures.push("lost");
        this.#lost++;
        return;
      case "unavailable":
        this.#failures.push(failure.failure);
        return;
    }
  }
}
