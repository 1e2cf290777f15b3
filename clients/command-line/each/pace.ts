/**
 * Limits the requests that are under way at once to what the service accepts. Each 429 halves the limit and makes all
 * requests wait for its `Retry-After`; each round of successes adds one, as in TCP.
 */
import PQueue from "p-queue";

export class Pace {
  readonly #queue: PQueue;
  readonly #max: number;
  #successes = 0;
  #resume: NodeJS.Timeout | undefined;
  #pausedUntilMilliseconds = 0;
  #isStopped = false;

  constructor(max: number) {
    this.#max = max;
    this.#queue = new PQueue({ concurrency: Math.min(2, max) });
  }

  get limit(): number {
    return this.#queue.concurrency;
  }

  /** Puts a task at the end: also one that was refused, so that a document that is refused for good keeps no other back. */
  add(task: () => Promise<void>): void {
    // The task reports its own failures.
    void this.#queue.add(task);
  }

  recordSuccess(): void {
    this.#successes++;
    if (this.#successes < this.limit || this.limit >= this.#max) return;
    this.#successes = 0;
    this.#queue.concurrency++;
  }

  /** The service was too busy for a request: none begins for this long. @returns whether that is a second longer than before */
  recordRefusal(seconds: number): boolean {
    // A request that was under way when the run was stopped may still be refused.
    if (this.#isStopped) return false;
    const until = performance.now() + seconds * 1000;
    // Requests that were under way together are refused together, which counts as one refusal.
    if (performance.now() >= this.#pausedUntilMilliseconds) {
      this.#queue.concurrency = Math.max(1, Math.floor(this.limit / 2));
      this.#successes = 0;
    }
    if (until <= this.#pausedUntilMilliseconds) return false;
    // Requests that are refused together would otherwise each seem to make the pause longer.
    const isLonger = until - Math.max(this.#pausedUntilMilliseconds, performance.now()) >= 1000;
    this.#pausedUntilMilliseconds = until;
    this.#queue.pause();
    clearTimeout(this.#resume);
    this.#resume = setTimeout(() => this.#queue.start(), seconds * 1000);
    return isLonger;
  }

  stop(): void {
    this.#isStopped = true;
    clearTimeout(this.#resume);
    this.#queue.clear();
    this.#queue.start();
  }

  waitForAll(): Promise<void> {
    return this.#queue.onIdle();
  }
}
