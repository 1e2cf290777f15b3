/**
 * What one caller asks of the render slots: who waits, what runs, and how long its renders take.
 *
 * Times are in seconds of a clock that the caller of these functions reads; nothing here looks at one.
 */

/**
 * How much the newest render counts in the running mean: a longer one more than a shorter one, so that a few short renders
 * do not buy a caller its next long ones.
 */
const LONGER_WEIGHT = 0.2;
const SHORTER_WEIGHT = 0.05;

const USE_HALF_LIFE_SECONDS = 30;

export class CallerLoad<Waiter> {
  /** In the order in which they came. */
  readonly waiting = new Set<Waiter>();
  /** The number of the turn in which it last got a slot; 0 before the first. */
  latestTurn = 0;
  /** When each running render was admitted; objects, so that two renders admitted at the same instant stay distinct. */
  readonly #running = new Set<{ readonly admittedSeconds: number }>();
  /** Of its renders; infinite while none has ended. */
  #meanSeconds = Number.POSITIVE_INFINITY;
  /** Slot time of the renders that have ended, which counts less and less. */
  #used = { seconds: 0, atSeconds: 0 };
  #lastSeenSeconds: number;

  constructor(nowSeconds: number) {
    this.#lastSeenSeconds = nowSeconds;
  }

  get running(): number {
    return this.#running.size;
  }

  get isIdle(): boolean {
    return this.#running.size === 0 && this.waiting.size === 0;
  }

  /** Whether it has asked for anything, or had anything running, within the last `seconds`. */
  wasActiveWithin(seconds: number, nowSeconds: number): boolean {
    return !this.isIdle || nowSeconds - this.#lastSeenSeconds <= seconds;
  }

  /** How long a render of its own is expected to take: by those that have ended, and at least as long as those that run. */
  expectedSeconds(nowSeconds: number): number {
    return Math.max(
      this.#meanSeconds,
      ...[...this.#running].map(({ admittedSeconds }) => nowSeconds - admittedSeconds),
    );
  }

  /** Slot time used of late: it counts half after `USE_HALF_LIFE_SECONDS`. */
  usedSeconds(nowSeconds: number): number {
    return this.#used.seconds * 0.5 ** ((nowSeconds - this.#used.atSeconds) / USE_HALF_LIFE_SECONDS);
  }

  markActive(nowSeconds: number): void {
    this.#lastSeenSeconds = nowSeconds;
  }

  /** Counts a render as running; the function returned counts its end, once. */
  admit(nowSeconds: number): (endSeconds: number) => void {
    const render = { admittedSeconds: nowSeconds };
    this.#running.add(render);
    return (endSeconds) => {
      if (!this.#running.delete(render)) return;
      this.#count(endSeconds - nowSeconds);
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
