/**
 * Admission to the render slots: first come, first served, with a cap, a bounded queue and a deadline.
 *
 * Whoever waits can leave (its client went away), and a slot is given back in one place, whatever the work did.
 */

export interface RenderQueueOptions {
  readonly slots: number;
  readonly maxWaiting: number;
  /** What the waiting requests may hold in memory together. */
  readonly maxWaitingBytes: number;
  readonly deadlineMilliseconds: number;
}

/** What became of a request for a slot. */
export type Admission<Result> =
  | { readonly kind: "done"; readonly result: Result; readonly waitedSeconds: number }
  /** No slot before the deadline, or no place in the queue. */
  | { readonly kind: "full"; readonly retryAfterSeconds: number }
  /** The caller's signal was aborted before a slot was free. */
  | { readonly kind: "left" };

interface Waiter {
  readonly admit: () => void;
  readonly bytes: number;
}

/** How much the newest render time counts in the running mean. */
const NEWEST_WEIGHT = 0.2;
const MILLISECONDS_PER_SECOND = 1000;

export class RenderQueue {
  readonly #options: RenderQueueOptions;
  readonly #waiting = new Set<Waiter>();
  #running = 0;
  #waitingBytes = 0;
  #meanRenderSeconds = 1;

  constructor(options: RenderQueueOptions) {
    this.#options = options;
  }

  get running(): number {
    return this.#running;
  }

  get waiting(): number {
    return this.#waiting.size;
  }

  /** Whether nothing runs and nobody waits. */
  get isIdle(): boolean {
    return this.#running === 0 && this.#waiting.size === 0;
  }

  /**
   * Runs `work` in a slot once one is free. What `work` throws is thrown here, after the slot is free again.
   *
   * @param bytes what the request holds in memory while it waits.
   */
  async run<Result>(signal: AbortSignal, bytes: number, work: () => Promise<Result>): Promise<Admission<Result>> {
    const arrived = performance.now();
    const entry = await this.#enter(signal, bytes);
    if (entry === "left") return { kind: "left" };
    if (entry === "full") return { kind: "full", retryAfterSeconds: this.estimateRetryAfterSeconds() };
    const admitted = performance.now();
    try {
      const result = await work();
      return { kind: "done", result, waitedSeconds: (admitted - arrived) / MILLISECONDS_PER_SECOND };
    } finally {
      this.#recordRenderSeconds((performance.now() - admitted) / MILLISECONDS_PER_SECOND);
      this.#leave();
    }
  }

  /** When a slot can be hoped for: the work ahead, at the pace of the latest renders, in whole seconds. */
  estimateRetryAfterSeconds(): number {
    const ahead = this.#running + this.#waiting.size;
    return Math.max(1, Math.ceil((ahead * this.#meanRenderSeconds) / this.#options.slots));
  }

  #enter(signal: AbortSignal, bytes: number): Promise<"admitted" | "full" | "left"> | "admitted" | "full" | "left" {
    if (signal.aborted) return "left";
    if (this.#running < this.#options.slots) {
      this.#running++;
      return "admitted";
    }
    const { maxWaiting, maxWaitingBytes } = this.#options;
    if (this.#waiting.size >= maxWaiting || this.#waitingBytes + bytes > maxWaitingBytes) return "full";
    return new Promise((resolve) => {
      const settle = (outcome: "admitted" | "full" | "left") => {
        clearTimeout(timer);
        signal.removeEventListener("abort", leave);
        this.#waiting.delete(waiter);
        this.#waitingBytes -= waiter.bytes;
        resolve(outcome);
      };
      const leave = () => settle("left");
      const timer = setTimeout(settle, this.#options.deadlineMilliseconds, "full");
      const waiter: Waiter = { admit: () => settle("admitted"), bytes };
      signal.addEventListener("abort", leave, { once: true });
      this.#waiting.add(waiter);
      this.#waitingBytes += bytes;
    });
  }

  /** Hands the slot to whoever has waited longest (a Set keeps the order of arrival), or frees it. */
  #leave(): void {
    const [next] = this.#waiting;
    if (next === undefined) this.#running--;
    else next.admit();
  }

  #recordRenderSeconds(seconds: number): void {
    this.#meanRenderSeconds += NEWEST_WEIGHT * (seconds - this.#meanRenderSeconds);
  }
}
