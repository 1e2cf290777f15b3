/** When an origin that is silent is given up: with a clock of the test's own. */
import { expect, it } from "vitest";
import type { Clock } from "../../../edge/clock.ts";
import { watchOrigin } from "../../../edge/origins/watch-origin.ts";

/** A clock that stands still until `passTo`. */
class StillClock implements Clock {
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
      const [next] = this.#due.filter(({ at }) => at <= time).sort((left, right) => left.at - right.at);
      if (next === undefined) break;
      this.#now = next.at;
      this.#due = this.#due.filter((other) => other !== next);
      next.callback();
      await scheduler.wait(0);
    }
    this.#now = time;
  }
}

interface Watch {
  readonly clock: StillClock;
  readonly givenUpAt: number[];
  readonly probedAt: number[];
  readonly stop: () => void;
}

function watch(deadline: number, isAlive: (clock: Clock, timeoutMilliseconds: number) => Promise<boolean>): Watch {
  const clock = new StillClock();
  const givenUpAt: number[] = [];
  const probedAt: number[] = [];
  const stop = watchOrigin({
    clock,
    deadline,
    isAlive: (timeoutMilliseconds) => {
      probedAt.push(clock.now());
      return isAlive(clock, timeoutMilliseconds);
    },
    giveUp: () => givenUpAt.push(clock.now()),
  });
  return { clock, givenUpAt, probedAt, stop };
}

const alive = async () => true;
const refusing = async () => false;
const silent = async (clock: Clock, timeoutMilliseconds: number) => {
  await clock.wait(timeoutMilliseconds);
  return false;
};

it("asks an origin every three seconds and gives it up at the deadline", async () => {
  const { clock, givenUpAt, probedAt } = watch(10_000, alive);
  await clock.passTo(20_000);
  expect(probedAt.filter((at) => at < 10_000)).toEqual([3000, 6000, 9000]);
  expect(givenUpAt[0]).toBe(10_000);
});

it.each([
  ["refuses two probes", refusing, 6000],
  ["is silent for two probes", silent, 12_000],
])("gives up an origin that %s", async (_what, isAlive, at) => {
  const { clock, givenUpAt } = watch(60_000, isAlive);
  await clock.passTo(at - 1);
  expect(givenUpAt).toEqual([]);
  await clock.passTo(at);
  expect(givenUpAt).toEqual([at]);
});

it("forgives a probe that failed when the next one is answered", async () => {
  let count = 0;
  const { clock, givenUpAt } = watch(60_000, async () => ++count % 2 === 0);
  await clock.passTo(59_999);
  expect(givenUpAt).toEqual([]);
});

it("gives up at the deadline, even while it waits for the answer to a probe", async () => {
  const { clock, givenUpAt } = watch(4000, silent);
  await clock.passTo(4000);
  expect(givenUpAt).toEqual([4000]);
});

it("does nothing more once it is stopped", async () => {
  const { clock, givenUpAt, stop } = watch(60_000, refusing);
  await clock.passTo(3000);
  stop();
  expect(clock.timers).toBe(0);
  await clock.passTo(100_000);
  expect(givenUpAt).toEqual([]);
});
