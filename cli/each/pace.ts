/**
 * How many requests are under way at once: as many as the service takes. Each 429 halves the number and makes all wait for
 * its `Retry-After`; each round of successes adds one, as TCP does it.
 */
import PQueue from "p-queue";

export class Pace {
  readonly #queue: PQueue;
  readonly #max: number;
  #successes = 0;
  #resume: NodeJS.Timeout | undefined;
  #pausedUntilMilliseconds = 0;

  /** @param max requests at once */
  constructor(max: number) {
    this.#max = max;
    this.#queue = new PQueue({ concurrency: Math.min(2, max) });
  }

  /** Requests at once, at present. */
  get limit(): number {
    return this.#queue.concurrency;
  }

  /** Puts a task at the end, or, if it has been refused before, in front of the others. */
  add(task: () => Promise<void>, isAgain = false): void {
    // The task reports its own failures.
    void this.#queue.add(task, { priority: isAgain ? 1 : 0 });
  }

  succeeded(): void {
    this.#successes++;
    if (this.#successes < this.limit || this.limit >= this.#max) return;
    this.#successes = 0;
    this.#queue.concurrency++;
  }

  /** The service has refused a request for its load: nothing begins for this long. */
  refused(seconds: number): void {
    const until = performance.now() + seconds * 1000;
    // Requests that were under way together are refused together: that is one sign, not many.
    if (performance.now() >= this.#pausedUntilMilliseconds) {
      this.#queue.concurrency = Math.max(1, Math.floor(this.limit / 2));
      this.#successes = 0;
    }
    if (until <= this.#pausedUntilMilliseconds) return;
    this.#pausedUntilMilliseconds = until;
    this.#queue.pause();
    clearTimeout(this.#resume);
    this.#resume = setTimeout(() => this.#queue.start(), seconds * 1000);
  }

  /** Drops what has not begun. */
  stop(): void {
    clearTimeout(this.#resume);
    this.#queue.clear();
    this.#queue.start();
  }

  /** Resolves when nothing waits or runs. */
  idle(): Promise<void> {
    return this.#queue.onIdle();
  }
}
