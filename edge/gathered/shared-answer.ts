/**
 * An answer gathered from the backends once for all requests of an isolate. The routes that use it need no token, so
 * more requests must not cause more work at the backends.
 */
import { WALL_CLOCK, WALL_CLOCK } from "../clock.ts";

/** The shortest time between the starts of two gatherings, even if the first is aborted. */
const MIN_INTERVAL_MILLISECONDS = 1000;
/** Requests poll for the result: in workerd, one request must not wake another. */
const POLL_MILLISECONDS = 20;

export interface Gathered<Value> {
  readonly value: Value;
  readonly keepMilliseconds: number;
}

export class SharedAnswer<Value> {
  readonly #gather: () => Promise<Gathered<Value>>;
  readonly #timeoutMilliseconds: number;
  #kept: { readonly value: Value; readonly until: number } | null = null;
  /** When the current gathering must have ended. If its client disconnects, workerd may never finish it. */
  #busyUntil = Number.NEGATIVE_INFINITY;

  /** @param gather never rejects, and takes `timeoutMilliseconds` at most */
  constructor(gather: () => Promise<Gathered<Value>>, timeoutMilliseconds: number) {
    this.#gather = gather;
    this.#timeoutMilliseconds = timeoutMilliseconds;
  }

  /**
   * @param clientGone gives the signal that the client has left: another waiting request then gathers. It is asked for
   *   only if needed: workerd keeps a request whose signal was used until the next garbage collection. A flood of
   *   requests for 57 KB took 1.5 GB in ten seconds, without the signal 0.4 (2026-11-22, in workerd alone).
   */
  async get(clientGone: () => AbortSignal): Promise<Value> {
    let signal: AbortSignal | null = null;
    // Bounded: a gathering ends with a result, or its time is up and another request takes over.
    for (;;) {
      const now = WALL_CLOCK.now();
      if (this.#kept !== null && now < this.#kept.until) return this.#kept.value;
      signal ??= clientGone();
      if (now >= this.#busyUntil) return this.#gatherAlone(signal);
      await WALL_CLOCK.wait(POLL_MILLISECONDS);
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
    const { value, keepMilliseconds } = await this.#gather();
    this.#kept = { value, until: WALL_CLOCK.now() + keepMilliseconds };
    this.#busyUntil = Number.NEGATIVE_INFINITY;
    return value;
  }
}
