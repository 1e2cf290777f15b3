/** The clock of everything at the edge that waits. Tests of what decides on backends and memory have one of their own. */

export interface Clock {
  /** In whole milliseconds since some moment. It never goes back, and nobody sets it, unlike the time of day. */
  now(): number;
  wait(milliseconds: number): Promise<void>;
  /** Calls back after a time. @returns a function that cancels the call. */
  after(milliseconds: number, callback: () => void): () => void;
}

export const MONOTONIC_CLOCK: Clock = {
  now: () => Math.floor(performance.now()),
  wait: (milliseconds) => new Promise((resolve) => setTimeout(resolve, milliseconds)),
  after: (milliseconds, callback) => {
    const timer = setTimeout(callback, milliseconds);
    return () => clearTimeout(timer);
  },
};

/** A request that is answered before this sets one timer in all. */
const FIRST_LOOK_MILLISECONDS = 1000;

/**
 * The clock of one request. Most of what a request waits for comes long before its deadline, and a timer of workerd costs
 * as much as a header field of the answer, so all deadlines share one. When no
 * deadline is left, the timer still fires once, and does nothing.
 */
export class RequestClock implements Clock {
  readonly now = MONOTONIC_CLOCK.now;
  readonly wait = MONOTONIC_CLOCK.wait;
  readonly #calls = new Set<{ readonly at: number; readonly callback: () => void }>();
  #firesAt = Number.POSITIVE_INFINITY;
  #cancelTimer = () => {};

  after(milliseconds: number, callback: () => void): () => void {
    const call = { at: this.now() + milliseconds, callback };
    this.#calls.add(call);
    if (call.at < this.#firesAt) this.#setTimer(Math.min(milliseconds, FIRST_LOOK_MILLISECONDS));
    return () => this.#calls.delete(call);
  }

  #setTimer(milliseconds: number): void {
    this.#cancelTimer();
    this.#firesAt = this.now() + milliseconds;
    this.#cancelTimer = MONOTONIC_CLOCK.after(milliseconds, () => this.#fire());
  }

  #fire(): void {
    this.#firesAt = Number.POSITIVE_INFINITY;
    const now = this.now();
    const due = [...this.#calls].filter(({ at }) => at <= now).sort((left, right) => left.at - right.at);
    for (const call of due) if (this.#calls.delete(call)) call.callback();
    const next = Math.min(...[...this.#calls].map(({ at }) => at));
    if (next < this.#firesAt) this.#setTimer(Math.max(0, next - now));
  }
}

/** What `work` resolves to, or "late". The work then goes on: a stream that is read stays in use. */
export async function waitAtMost<Result>(work: Promise<Result>, milliseconds: number): Promise<Result | "late"> {
  const { promise: late, resolve } = Promise.withResolvers<"late">();
  const timer = setTimeout(resolve, Math.max(0, milliseconds), "late");
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
}
