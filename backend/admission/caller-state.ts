/** What is known of one caller: its requests, and how long its renders take. All times are passed in. */

/** A render longer than the mean weighs more: a caller cannot make up for long renders with a few short ones. */
const LONGER_WEIGHT = 0.2;
const SHORTER_WEIGHT = 0.05;

const USE_HALF_LIFE_SECONDS = 30;

export class CallerState<Waiter> {
  readonly waiting = new Set<Waiter>();
  latestTurn = 0;
  /** When each running render was admitted. Objects, so that two renders admitted at the same instant are distinct. */
  readonly #running = new Set<{ readonly admittedSeconds: number; readonly isLent: boolean }>();
  /** Running mean of the length of its renders; infinite until one has ended. */
  #meanSeconds = Number.POSITIVE_INFINITY;
  /** Slot time of the renders that have ended, which decays: see `usedSeconds`. */
  #used = { seconds: 0, atSeconds: 0 };
  #lastSeenSeconds: number;

  constructor(nowSeconds: number) {
    this.#lastSeenSeconds = nowSeconds;
  }

  get running(): number {
    return this.#running.size;
  }

  get lent(): number {
    let count = 0;
    for (const { isLent } of this.#running) if (isLent) count++;
    return count;
  }

  get isIdle(): boolean {
    return this.#running.size === 0 && this.waiting.size === 0;
  }

  /** Whether the caller had a waiting request or a running render within the last `seconds`. */
  wasActiveWithin(seconds: number, nowSeconds: number): boolean {
    return !this.isIdle || nowSeconds - this.#lastSeenSeconds <= seconds;
  }

  /** The mean, or as long as its longest running render takes. @param unknownSeconds until a render has ended */
  expectedSeconds(nowSeconds: number, unknownSeconds = Number.POSITIVE_INFINITY): number {
    return Math.max(
      this.#meanSeconds === Number.POSITIVE_INFINITY ? unknownSeconds : this.#meanSeconds,
      ...[...this.#running].map(({ admittedSeconds }) => nowSeconds - admittedSeconds),
    );
  }

  /** Recently used slot time. It decays by half every `USE_HALF_LIFE_SECONDS`. */
  usedSeconds(nowSeconds: number): number {
    return this.#used.seconds * 0.5 ** ((nowSeconds - this.#used.atSeconds) / USE_HALF_LIFE_SECONDS);
  }

  markActive(nowSeconds: number): void {
    this.#lastSeenSeconds = nowSeconds;
  }

  /** @returns what counts the end, once. A render that was stopped does not make its caller quicker. */
  admit(nowSeconds: number, isLent = false): (endSeconds: number, isStopped?: boolean) => void {
    const render = { admittedSeconds: nowSeconds, isLent };
    this.#running.add(render);
    return (endSeconds, isStopped = false) => {
      if (!this.#running.delete(render)) return;
      if (!isStopped || endSeconds - nowSeconds > this.#meanSeconds) this.#count(endSeconds - nowSeconds);
      this.#used = { seconds: this.usedSeconds(endSeconds) + endSeconds - nowSeconds, atSeconds: endSeconds };
      this.markActive(endSeconds);
    };
  }

  #count(seconds: number): void {
    if (this.#meanSeconds === Number.POSITIVE_INFINITY) this.#meanSeconds = seconds;
    const weight = seconds > this.#meanSeconds ? LONGER_WEIGHT : SHORTER_WEIGHT;
    this.#meanSeconds += weight * (seconds - this.#meanSeconds);
  }
}
