/**
 * The attempts of one render: which backend is tried next, when to stop, and what the client is told. Why a render may
 * be repeated: docs/decisions/renders-are-repeated.md. Times are passed in, in milliseconds.
 */
import type { AttemptFailure } from "../../rules/causes.ts";
import { type Problem, renderQueueFull, serviceUnavailable } from "../../rules/problem.ts";
import { longestTransitMilliseconds, MAX_UPLOAD_MILLISECONDS } from "../../rules/render-time.ts";
import type { Backend } from "../platform/platform.ts";
import type { FailedAttempt } from "./backend-answer.ts";
import type { BackendChoice } from "./backend-choice.ts";

/** Attempts that may cost an upload or a render: all but the first at a backend that is full or unreachable. */
const MAX_ATTEMPTS = 4;
/** How much is sent in all, if there are more attempts than that: four of the largest bodies by default. */
const MAX_BYTES_SENT = 80 * 1024 ** 2;
/** A body of this size costs more than asking backends how busy they are. */
const MIN_ASKED_BYTES = 64 * 1024;
/** How many backends are asked before the next attempt, by two at a time: each may take a second. */
const ASKED_IN_A_ROUND = 4;
/** A backend that cannot be reached may just be restarting, so it is tried a second time. */
const MAX_ATTEMPTS_PER_BACKEND = 2;
const PAUSE_BEFORE_SECOND_ROUND_MILLISECONDS = 250;
/** How many backends may fail while they have the request: one that brings down a backend must not bring down all. */
const MAX_LOST_BACKENDS = 2;
/** Less is not worth an attempt: a backend takes at least a second for a render, and leaves one for its answer. */
const MIN_ATTEMPT_MILLISECONDS = 2000;
/**
 * How long a request may be on its way, beside its body. A backend that is idle after that does not have it: it was
 * started anew, or something between the two dropped the request.
 */
const MAX_TRANSIT_MILLISECONDS = 5000;

/** What the client gets of a render: the answer of a backend, or a problem. */
export type RenderAnswer<Answer> = { readonly kind: "answered"; readonly answer: Answer } | RefusedRender;

export interface RefusedRender {
  readonly kind: "refused";
  readonly problem: Problem;
}

type RenderStep =
  | { readonly kind: "try"; readonly backend: Backend }
  | { readonly kind: "wait"; readonly milliseconds: number }
  | { readonly kind: "ask"; readonly backends: readonly Backend[] }
  | RefusedRender;

export interface BegunAttempt {
  readonly backend: Backend;
  readonly beganAt: number;
  readonly sentAt: number;
  readonly bodyBytes: number;
}

export class RenderAttempts {
  readonly #choice: BackendChoice;
  #deadline: number;
  /** By how much the deadline has been moved: in all by no more than one upload may take. */
  #extended = 0;
  readonly #bodyBytes: number;
  readonly #random: () => number;
  readonly #counts = new Map<Backend, number>();
  readonly #failures: AttemptFailure[] = [];
  /** The answer of the full backend that expects to have room first. */
  #full: Extract<FailedAttempt, { failure: "full" }> | null = null;
  readonly #notAgain = new Set<Backend>();
  readonly #asked = new Set<Backend>();
  #lost = 0;
  #attempts = 0;
  #costly = 0;
  #bytesSent = 0;
  #hasWaited = false;

  constructor(choice: BackendChoice, deadline: number, bodyBytes: number, random: () => number) {
    this.#choice = choice;
    this.#deadline = deadline;
    this.#bodyBytes = bodyBytes;
    this.#random = random;
  }

  get failures(): readonly AttemptFailure[] {
    return this.#failures;
  }

  get deadline(): number {
    return this.#deadline;
  }

  /** Moves the deadline by the time that an upload took, so that the backend has as much as it was told. */
  extend(milliseconds: number): void {
    const longer = Math.min(milliseconds, MAX_UPLOAD_MILLISECONDS - this.#extended);
    this.#extended += longer;
    this.#deadline += longer;
  }

  next(now: number): RenderStep {
    const isOver = this.#costly >= MAX_ATTEMPTS || this.#lost >= MAX_LOST_BACKENDS;
    if (isOver || this.#deadline - now < MIN_ATTEMPT_MILLISECONDS) return this.refuse();
    const hasHadMany = this.#attempts >= MAX_ATTEMPTS;
    if (hasHadMany && this.#bytesSent + this.#bodyBytes > MAX_BYTES_SENT) return this.refuse();
    const leftOut = hasHadMany ? this.#choice.listHopeless(now).filter((backend) => !this.#counts.has(backend)) : [];
    const untried = this.#nextUntried(now, new Set([...this.#counts.keys(), ...leftOut]));
    if (untried !== null) return untried;
    // All others have been tried. A second round makes sense only for those that may answer differently.
    const exhausted = [...this.#counts]
      .filter(([, count]) => count >= MAX_ATTEMPTS_PER_BACKEND)
      .map(([backend]) => backend);
    const again = this.#choice.choose(now, new Set([...this.#notAgain, ...exhausted, ...leftOut]), this.#random);
    if (again === null) return this.refuse();
    if (this.#hasWaited) return { kind: "try", backend: again };
    if (this.#deadline - now < PAUSE_BEFORE_SECOND_ROUND_MILLISECONDS + MIN_ATTEMPT_MILLISECONDS) return this.refuse();
    this.#hasWaited = true;
    return { kind: "wait", milliseconds: PAUSE_BEFORE_SECOND_ROUND_MILLISECONDS };
  }

  #nextUntried(now: number, excluded: ReadonlySet<Backend>): RenderStep | null {
    const isFirst = this.#full === null;
    if (!isFirst && this.#bodyBytes >= MIN_ASKED_BYTES && !this.#choice.hasFreeSlot(now, excluded)) {
      const notAsked = new Set([...excluded, ...this.#asked]);
      const backends = this.#choice.pickUnknown(now, notAsked, ASKED_IN_A_ROUND, this.#random);
      for (const backend of backends) this.#asked.add(backend);
      if (backends.length > 0) return { kind: "ask", backends };
    }
    const backend = isFirst
      ? this.#choice.choose(now, excluded, this.#random)
      : this.#choice.chooseCheapest(now, excluded, this.#random);
    return backend === null ? null : { kind: "try", backend };
  }

  /** Whether to abandon a backend that has the request: another attempt is possible, and more likely to be answered. */
  isHopeless({ backend, beganAt, sentAt, bodyBytes }: BegunAttempt, now: number): boolean {
    if (this.#costly + 1 >= MAX_ATTEMPTS || this.#lost + 1 >= MAX_LOST_BACKENDS) return false;
    if (this.#deadline - now < PAUSE_BEFORE_SECOND_ROUND_MILLISECONDS + MIN_ATTEMPT_MILLISECONDS) return false;
    const arrivedAt = sentAt + MAX_TRANSIT_MILLISECONDS + longestTransitMilliseconds(bodyBytes);
    if (this.#choice.wasIdleSince(backend, arrivedAt)) return true;
    return this.#choice.hasFailedSince(backend, beganAt) && this.#choice.hasInUse(now, new Set(this.#counts.keys()));
  }

  /** The answer when no further attempt is made: the service is busy if at least one backend was full. */
  refuse(bodyIs: "held" | "dropped" = "held"): RefusedRender {
    return { kind: "refused", problem: this.#problem(bodyIs) };
  }

  #problem(bodyIs: "held" | "dropped"): Problem {
    if (this.#full !== null) {
      const { retryAfterSeconds, cause } = this.#full;
      const haveOthersFailed = this.#failures.some((failure) => failure !== "full");
      return renderQueueFull(haveOthersFailed ? "backend_full" : cause, retryAfterSeconds);
    }
    if (bodyIs === "dropped") return serviceUnavailable("body_dropped", this.#failures);
    return serviceUnavailable(this.#attempts === 0 ? "no_backends" : "no_backend_answered", this.#failures);
  }

  begin(backend: Backend): void {
    this.#attempts++;
    this.#counts.set(backend, (this.#counts.get(backend) ?? 0) + 1);
  }

  fail(backend: Backend, result: FailedAttempt): void {
    const mayHaveBegun = result.failure !== "full" && result.mayHaveBegun;
    const isNobodyThere = result.failure === "unreachable" && !mayHaveBegun;
    if (!isNobodyThere) this.#bytesSent += this.#bodyBytes;
    const isFree = isNobodyThere || result.failure === "full";
    if (!isFree || (this.#counts.get(backend) ?? 0) > 1) this.#costly++;
    this.#failures.push(result.failure);
    if (mayHaveBegun) this.#lost++;
    if (result.failure === "full" || result.failure === "refused_request") this.#notAgain.add(backend);
    if (result.failure !== "full") return;
    if (result.retryAfterSeconds < (this.#full?.retryAfterSeconds ?? Number.POSITIVE_INFINITY)) this.#full = result;
  }
}
