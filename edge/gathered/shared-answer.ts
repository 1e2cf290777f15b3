/**
 * An answer gathered from the backends once for all requests of an isolate. The routes that use it need no token, so
 * more requests must not cause more work at the backends.
 */
import { FairLimit } from "../body/fair-limit.ts";
import { MONOTONIC_CLOCK, waitAtMost } from "../clock.ts";

/** How many may wait for it, as they need no token. As one caller, they have half of the places of a `FairLimit`. */
const MAX_WAITING = 32;
/** By how much a gathering may be late, because the timers of a busy isolate are. */
const SLACK_MILLISECONDS = 500;

export interface Gathered<Value> {
  readonly value: Value;
  readonly keepMilliseconds: number;
  /** For how long after that others get it while it is gathered anew. */
  readonly staleMilliseconds: number;
}

/** What is asked for only if the answer is not there: on Cloudflare, to know of a client that leaves keeps its request in memory. */
export interface WaitingRequest {
  whenClientLeaves(callback: () => void): void;
  inBackground(work: Promise<unknown>): void;
}

interface Gathering<Value> {
  readonly value: Promise<Value>;
  readonly until: number;
}

export class SharedAnswer<Value> {
  readonly #gather: () => Promise<Gathered<Value>>;
  readonly #timeoutMilliseconds: number;
  readonly #unknown: () => Value;
  readonly #waiting: FairLimit;
  #kept: { readonly value: Value; readonly until: number; readonly staleUntil: number } | null = null;
  #gathering: Gathering<Value> | null = null;

  /**
   * @param gather never rejects, and takes `timeoutMilliseconds` at most
   * @param unknown what those get who may not wait although nothing is known
   */
  constructor(gather: () => Promise<Gathered<Value>>, timeoutMilliseconds: number, unknown: () => Value) {
    this.#gather = gather;
    this.#timeoutMilliseconds = timeoutMilliseconds + SLACK_MILLISECONDS;
    this.#unknown = unknown;
    this.#waiting = new FairLimit(2 * MAX_WAITING, this.#timeoutMilliseconds);
  }

  async get(request: WaitingRequest): Promise<Value> {
    const now = MONOTONIC_CLOCK.now();
    // The platform may have ended the request for which it is gathered.
    if (this.#gathering !== null && this.#gathering.until <= now) this.#gathering = null;
    const kept = this.#kept;
    if (kept !== null && now < (this.#gathering === null ? kept.until : kept.staleUntil)) return kept.value;
    const place = this.#waiting.acquire("");
    if (place === null) return this.#unknown();
    request.whenClientLeaves(place.release);
    this.#gathering ??= this.#begin(now, request);
    const { value, until } = this.#gathering;
    const answer = await waitAtMost(value, until - now);
    place.release();
    return answer === "late" ? this.#unknown() : answer;
  }

  /** Gathering goes on when the client that began it leaves: others wait for the answer, or come soon. */
  #begin(now: number, request: WaitingRequest): Gathering<Value> {
    const gather = async () => {
      const { value, keepMilliseconds, staleMilliseconds } = await this.#gather();
      const until = MONOTONIC_CLOCK.now() + keepMilliseconds;
      this.#kept = { value, until, staleUntil: until + staleMilliseconds };
      if (this.#gathering === gathering) this.#gathering = null;
      return value;
    };
    const gathering = { value: gather(), until: now + this.#timeoutMilliseconds };
    request.inBackground(gathering.value);
    return gathering;
  }
}
