/** Clocks that only a test moves: one to be passed in, and the platform's own. */
import { vi } from "vitest";
import { type Clock, MONOTONIC_CLOCK } from "../../edge/clock.ts";

/** A clock that stands still until `pass` or `passTo`. */
export class StillClock implements Clock {
  #now = 0;
  #due: { readonly at: number; readonly callback: () => void }[] = [];

  now(): number {
    return this.#now;
  }

  wait(milliseconds: number): Promise<void> {
    return new Promise((resolve) => this.after(milliseconds, resolve));
  }

  after(milliseconds: number, callback: () => void): () => void {
    const due = { at: this.#now + milliseconds, callback };
    this.#due.push(due);
    return () => {
      this.#due = this.#due.filter((other) => other !== due);
    };
  }

  get timers(): number {
    return this.#due.length;
  }

  async passTo(time: number): Promise<void> {
    for (;;) {
      // The last callback may have set another timer.
      await scheduler.wait(0);
      const [next] = this.#due.filter(({ at }) => at <= time).sort((left, right) => left.at - right.at);
      if (next === undefined) break;
      this.#now = next.at;
      this.#due = this.#due.filter((other) => other !== next);
      next.callback();
    }
    this.#now = time;
  }

  pass(milliseconds: number): Promise<void> {
    return this.passTo(this.#now + milliseconds);
  }
}

/** From now on, `vi.advanceTimersByTime` alone moves the clocks of the platform, until `vi.useRealTimers`. Timers run on. */
export function stopClocks(): void {
  vi.useFakeTimers({ toFake: ["Date", "performance"] });
}

/** Waits take no time but on the clock, until `vi.useRealTimers` and `vi.restoreAllMocks`. */
export function hastenWaits(): void {
  stopClocks();
  vi.spyOn(MONOTONIC_CLOCK, "wait").mockImplementation(async (milliseconds) => {
    vi.advanceTimersByTime(milliseconds);
  });
}
