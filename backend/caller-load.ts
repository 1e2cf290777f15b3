/**
 * What one caller asks of the render slots: who waits, what runs, and whether its renders are short.
 *
 * Times are in seconds of a clock that the caller of these functions reads; nothing here looks at one.
 */

/** A caller with a render that takes longer than this is slow: see `RenderQueue`. */
export const SLOW_RENDER_SECONDS = 2;
/** For so long after a slow render a caller stays slow: a few short ones between must not buy it the next long ones. */
export const SLOW_MEMORY_SECONDS = 60;

export class CallerLoad<Waiter> {
  /** In the order in which they came. */
  readonly waiting = new Set<Waiter>();
  /** The number of the turn in which it last got a slot; 0 before the first. */
  latestTurn = 0;
  /** When each running render was admitted; equal times are kept apart by their own objects. */
  readonly #running = new Set<{ readonly admittedSeconds: number }>();
  #hasFinished = false;
  #lastSlowSeconds = Number.NEGATIVE_INFINITY;
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

  /** Whether its renders are known to be short. Of a caller without a finished render nothing is known. */
  isQuick(nowSeconds: number): boolean {
    return (
      this.#hasFinished &&
      nowSeconds - this.#lastSlowSeconds > SLOW_MEMORY_SECONDS &&
      [...this.#running].every(({ admittedSeconds }) => nowSeconds - admittedSeconds <= SLOW_RENDER_SECONDS)
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
      this.#hasFinished = true;
      if (endSeconds - nowSeconds > SLOW_RENDER_SECONDS) this.#lastSlowSeconds = endSeconds;
      this.see(endSeconds);
    };
  }
}
