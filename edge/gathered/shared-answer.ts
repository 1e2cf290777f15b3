/**
 * An answer gathered from the backends once for all requests of an isolate. The routes that use it need no token, so
 * more requests must not cause more work at the backends.
 */
import { FairLimit } from "../body/fair-limit.ts";
import { WALL_CLOCK } from "../clock.ts";

/** The shortest time between the starts of two gatherings, even if the first is aborted. */
const MIN_INTERVAL_MILLISECONDS = 1000;
/** Requests poll for the result: in workerd, one request must not wake another. */
const POLL_MILLISECONDS = 20;
/** How many may wait for it, as they need no token. As one caller, they have half of the places of a `FairLimit`. */
const MAX_WAITING = 32;

export interface Gathered<Value> {
  readonly value: Value;
  readonly keepMilliseconds: number;
  /** For how long after that others get it while one request gathers it anew. */
  readonly staleMilliseconds: number;
}

export class SharedAnswer<Value> {
  readonly #gather: () => Promise<Gathered<Value>>;
  readonly #timeoutMilliseconds: number;
  readonly #unknown: () => Value;
  readonly #waiting: FairLimit;
  #kept: { readonly value: Value; readonly until: number; readonly staleUntil: number } | null = null;
  /** When the current gathering must have ended. If its client disconnects, workerd may never finish it. */
  #busyUntil = Number.NEGATIVE_INFINITY;

  /**
   * @param gather never rejects, and takes `timeoutMilliseconds` at most
   * @param unknown what those get who may not wait although nothing is known
   */
  constructor(gather: () => Promise<Gathered<Value>>, timeoutMilliseconds: number, unknown: () => Value) {
    this.#gather = gather;
    this.#timeoutMilliseconds = timeoutMilliseconds;
    this.#unknown = unknown;
    this.#waiting = new FairLimit(2 * MAX_WAITING, 2 * timeoutMilliseconds);
  }

  /**
   * @param clientGone gives the signal that the client has left: another waiting request then gathers. It is asked for
   *   only if needed: workerd keeps a request whose signal was used until the next garbage collection. A flood of
   *   requests for 57 KB took 1.5 GB in ten seconds, without the signal 0.4 (in workerd alone).
   */
  async get(clientGone: () => AbortSignal): Promise<Value> {
    const known = this.#known();
    if (known !== null) return known.value;
    if (WALL_CLOCK.now() >= this.#busyUntil) return this.#gatherAlone(clientGone());
    const place = this.#waiting.acquire("");
    if (place === null) return this.#unknown();
    const signal = clientGone();
    signal.addEventListener("abort", place.release);
    try {
      return await this.#wait(signal);
    } finally {
      place.release();
    }
  }

  /** What may be answered at once; null if nothing may. */
  #known(): { readonly value: Value } | null {
    const now = WALL_CLOCK.now();
    const isGathered = now < this.#busyUntil;
    return this.#kept !== null && now < (isGathered ? this.#kept.staleUntil : this.#kept.until) ? this.#kept : null;
  }

  async #wait(signal: AbortSignal): Promise<Value> {
    // Bounded: a gathering ends with a result, or its time is up and another request takes over.
    for (;;) {
      await WALL_CLOCK.wait(POLL_MILLISECONDS);
      const known = this.#known();
      if (known !== null) return known.value;
      if (WALL_CLOCK.now() >= this.#busyUntil) return this.#gatherAlone(signal);
    }
  }

  async #gatherAlone(signal: AbortSignal): Promise<Value> {
    const startedAt = WALL_CLOCK.now();
    const busyUntil = startedAt + this.#timeoutMilliseconds + POLL_MILLISECONDS;
    this.#busyUntil = busyUntil;
    signal.addEventListener("abort", () => {
      // Not at once: otherwise clients that disconnect one after another would each cause a gathering.
      if (this.#busyUntil === busyUntil) this.#busyUntil = startedAt + MIN_INTERVAL_MILLISECONDS;
    });
    const { value, keepMilliseconds, staleMilliseconds } = await this.#gather();
    const until = WALL_CLOCK.now() + keepMilliseconds;
    this.#kept = { value, until, staleUntil: until + staleMilliseconds };
    this.#busyUntil = Number.NEGATIVE_INFINITY;
    return value;
  }
}
