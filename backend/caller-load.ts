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

export class CallerLoad<Waiter> {
  /** In the order in which they came. */
  readonly waiting = new Set<Waiter>();
  /** The number of the turn in which it last got a slot; 0 before the first. */
  latestTurn = 0;
  /** When each running render was admitted; equal times are kept apart by their own objects. */
  readonly #running = new Set<{ readonly admittedSeconds: number }>();
  /** Of its renders; infinite while none has ended. */
  #meanSeconds = Number.POSITIVE_INFINITY;
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

  see(nowSeconds: number): void {
    this.#lastSeenSeconds = nowSeconds;
  }

  /** Counts a render as running; the function returned counts its end, once. */
  admit(nowSeconds: number): (endSeconds: number) => void {
    const render = { admittedSeconds: nowSeconds };
    this.#running.add(render);
    return (endSeconds) => {
      if (!this.#running.delete(render)) return;
      this.#count(endSeconds - nowSeconds);
      this.see(endSeconds);
    };
  }

  #count(seconds: number): void {
    if (this.#meanSeconds === Number.POSITIVE_INFINITY) this.#meanSeconds = seconds;
    const weight = seconds > this.#meanSeconds ? LONGER_WEIGHT : SHORTER_WEIGHT;
    this.#meanSeconds += weight * (seconds - this.#meanSeconds);
  }
}
