/**
 * The attempts of one render: which backend is tried next, when to stop, and whether the client is told that the service is busy or
 * that it failed. docs/decisions/renders-are-repeated.md says why a render may be repeated.
 *
 * No clock and no I/O: times are passed in, in milliseconds.
 */
import type { AttemptFailure, CapacityCause, UnavailableCause } from "../../rules/causes.ts";
import type { BackendChoice } from "./backend-choice.ts";

const MAX_ATTEMPTS = 4;
/** A backend that cannot be reached may just be restarting, so it is tried a second time. */
const MAX_ATTEMPTS_PER_BACKEND = 2;
export const PAUSE_BEFORE_SECOND_ROUND_MILLISECONDS = 250;
/** How many backends may fail while they have the request. A request that can bring down a backend must not bring down all. */
const MAX_LOST_BACKENDS = 2;
/** Less time than this is not worth an attempt. */
export const MIN_ATTEMPT_MILLISECONDS = 100;
/**
 * How long a request that has been sent may be under way to the backend. If the backend is idle after that, it does not have it: it was
 * started anew, or something between the two dropped it.
 */
const MAX_TRANSIT_MILLISECONDS = 5000;
const MIN_BYTES_PER_MILLISECOND = 1000;

export type NextStep =
  | { readonly kind: "try"; readonly backend: number }
  | { readonly kind: "wait"; readonly milliseconds: number }
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
  /** The backend had the whole request and did not answer. */
  | { readonly kind: "lost" };

/** An attempt that has no answer yet. */
export interface BegunAttempt {
  readonly backend: number;
  readonly beganAt: number;
  /** When the backend had the whole request; infinite if it has not yet. */
  readonly sentAt: number;
  readonly bodyBytes: number;
}

export class RenderAttempts {
  readonly #choice: BackendChoice;
  readonly #deadline: number;
  readonly #random: () => number;
  readonly #counts = new Map<number, number>();
  readonly #failures: AttemptFailure[] = [];
  /** What the full backend said that will have room first. */
  #busy: Extract<FailedAttempt, { kind: "busy" }> | null = null;
  /** Backends that would give the same answer again. */
  readonly #notAgain = new Set<number>();
  #lost = 0;
  #attempts = 0;
  #hasWaited = false;

  constructor(choice: BackendChoice, deadline: number, random: () => number) {
    this.#choice = choice;
    this.#deadline = deadline;
    this.#random = random;
  }

  /** How each attempt failed so far. */
  get failures(): readonly AttemptFailure[] {
    return this.#failures;
  }

  next(now: number): NextStep {
    const isOver = this.#attempts >= MAX_ATTEMPTS || this.#lost >= MAX_LOST_BACKENDS;
    if (isOver || this.#deadline - now < MIN_ATTEMPT_MILLISECONDS) return this.giveUp();
    const untried = this.#choice.choose(now, new Set(this.#counts.keys()), this.#random);
    if (untried !== null) return { kind: "try", backend: untried };
    // All have been tried. A second round makes sense only for those that may answer differently.
    const exhausted = [...this.#counts]
      .filter(([, count]) => count >= MAX_ATTEMPTS_PER_BACKEND)
      .map(([index]) => index);
    const again = this.#choice.choose(now, new Set([...this.#notAgain, ...exhausted]), this.#random);
    if (again === null) return this.giveUp();
    if (this.#hasWaited) return { kind: "try", backend: again };
    // After the pause there would be no time for an attempt.
    if (this.#deadline - now < PAUSE_BEFORE_SECOND_ROUND_MILLISECONDS + MIN_ATTEMPT_MILLISECONDS) return this.giveUp();
    this.#hasWaited = true;
    return { kind: "wait", milliseconds: PAUSE_BEFORE_SECOND_ROUND_MILLISECONDS };
  }

  /** Whether to abandon a backend that has the request: another attempt is possible, and more likely to be answered. */
  isHopeless({ backend, beganAt, sentAt, bodyBytes }: BegunAttempt, now: number): boolean {
    if (this.#attempts >= MAX_ATTEMPTS || this.#lost + 1 >= MAX_LOST_BACKENDS) return false;
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
  giveUp(hasBody = true): Extract<NextStep, { kind: "busy" | "failed" }> {
    if (this.#busy !== null) {
      const { retryAfterSeconds, cause } = this.#busy;
      const isAlone = this.#failures.some((failure) => failure !== "full");
      return { kind: "busy", retryAfterSeconds, cause: isAlone ? "backend_full" : cause };
    }
    if (!hasBody) return { kind: "failed", cause: "body_dropped" };
    return { kind: "failed", cause: this.#attempts === 0 ? "no_backends" : "no_backend_answered" };
  }

  begin(backend: number): void {
    this.#attempts++;
    this.#counts.set(backend, (this.#counts.get(backend) ?? 0) + 1);
  }

  fail(backend: number, failure: FailedAttempt): void {
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
