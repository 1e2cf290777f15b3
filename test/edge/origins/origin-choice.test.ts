/** Which origin gets the next render, by what the answers and probes before have told. All times are the test's own. */
import { describe, expect, it } from "vitest";
import { type AttemptResult, OriginChoice } from "../../../edge/origins/origin-choice.ts";
import type { BackendLoad } from "../../../rules/http/backend-load.ts";

const NONE: ReadonlySet<number> = new Set();
const EXPIRY = 1_000_000;
/** Two origins that are equally good are taken by place. */
const first = () => 0;

const load = (told: Partial<BackendLoad>): BackendLoad => ({
  running: 0,
  waiting: 0,
  slots: 1,
  isDraining: false,
  ...told,
});
const answered = (told: Partial<BackendLoad> | null = null): AttemptResult => {
  return { kind: "answered", load: told === null ? null : load(told) };
};
const FAILED: AttemptResult = { kind: "failed" };

/** One attempt that begins and ends at once. */
function attempt(choice: OriginChoice, origin: number, now: number, result: AttemptResult): void {
  choice.end(choice.begin(origin, EXPIRY), now, result);
}

const choose = (choice: OriginChoice, now: number, excluded = NONE) => choice.choose(now, excluded, first);

describe("of two origins", () => {
  it("the one with fewer renders under way is chosen", () => {
    const choice = new OriginChoice(2);
    choice.begin(0, EXPIRY);
    expect(choose(choice, 0)).toBe(1);
    choice.begin(1, EXPIRY);
    choice.begin(1, EXPIRY);
    expect(choose(choice, 0)).toBe(0);
  });

  it("the one that reports fewer renders per slot is chosen", () => {
    const choice = new OriginChoice(2);
    attempt(choice, 0, 0, answered({ running: 2, waiting: 1, slots: 2 }));
    attempt(choice, 1, 0, answered({ running: 4, slots: 4 }));
    expect(choose(choice, 0)).toBe(1);
  });

  it("the reported load counts for five seconds, and so do the renders begun since", () => {
    const choice = new OriginChoice(2);
    attempt(choice, 0, 0, answered({ running: 1 }));
    expect([choose(choice, 5000), choose(choice, 5001)]).toEqual([1, 0]);
    attempt(choice, 1, 5000, answered({ running: 1 }));
    attempt(choice, 0, 5000, answered({ running: 1 }));
    const begun = choice.begin(0, EXPIRY);
    choice.end(begun, 5000, { kind: "abandoned" });
    expect(choose(choice, 5000)).toBe(1);
  });

  it("one that fails is left alone until a probe finds it ready, and is then chosen less often for a while", () => {
    const choice = new OriginChoice(2);
    attempt(choice, 0, 0, FAILED);
    expect(choose(choice, 900_000)).toBe(1);
    expect(choice.takeDue(1000, 3000)).toBe(0);
    choice.probed(0, 1000, true);
    expect([choose(choice, 1000), choose(choice, 5000)]).toEqual([1, 0]);
  });

  it("one that drains is chosen only when the other is excluded, for thirty seconds", () => {
    const choice = new OriginChoice(2);
    attempt(choice, 0, 0, answered({ isDraining: true }));
    expect(choose(choice, 29_999)).toBe(1);
    expect(choose(choice, 29_999, new Set([1]))).toBe(0);
    expect(choose(choice, 30_000)).toBe(0);
  });

  it("one that drains is better than one that fails, and of two that fail the one that failed first is", () => {
    const choice = new OriginChoice(2);
    attempt(choice, 0, 0, FAILED);
    attempt(choice, 1, 10, answered({ isDraining: true }));
    expect(choose(choice, 20)).toBe(1);
    attempt(choice, 1, 30, FAILED);
    expect(choose(choice, 40)).toBe(0);
  });
});

it("chooses none if all are excluded", () => {
  expect(choose(new OriginChoice(2), 0, new Set([0, 1]))).toBeNull();
  expect(choose(new OriginChoice(0), 0)).toBeNull();
});

it("spreads renders over many equal origins", () => {
  const choice = new OriginChoice(4);
  let state = 1;
  const random = () => {
    state = (state * 16_807) % 2_147_483_647;
    return state / 2_147_483_647;
  };
  const counts = [0, 0, 0, 0];
  for (let count = 0; count < 400; count++) {
    const origin = choice.choose(0, NONE, random) ?? 0;
    choice.begin(origin, EXPIRY);
    counts[origin] = (counts[origin] ?? 0) + 1;
  }
  expect(Math.max(...counts) - Math.min(...counts)).toBeLessThanOrEqual(4);
});

describe("a probe", () => {
  it("is due one second after a failure, and twice as long after each failure in a row, up to thirty seconds", () => {
    const choice = new OriginChoice(1);
    let now = 0;
    const pauses: number[] = [];
    for (let count = 0; count < 7; count++) {
      attempt(choice, 0, now, FAILED);
      const failedAt = now;
      while (choice.takeDue(now, 4000) === null) now += 500;
      pauses.push(now - failedAt);
      choice.probed(0, now, true);
    }
    expect(pauses).toEqual([1000, 2000, 4000, 8000, 16_000, 30_000, 30_000]);
  });

  it("is repeated after the same pause when the origin is not ready", () => {
    const choice = new OriginChoice(1);
    attempt(choice, 0, 0, FAILED);
    expect(choice.takeDue(1000, 4000)).toBe(0);
    choice.probed(0, 2000, false);
    expect([choice.takeDue(2999, 4000), choice.takeDue(3000, 4000)]).toEqual([null, 0]);
  });

  it("is due once, and again when its result has not come in time", () => {
    const choice = new OriginChoice(1);
    attempt(choice, 0, 0, FAILED);
    const due = [999, 1000, 1001, 4999, 5000].map((now) => choice.takeDue(now, 4000));
    expect(due).toEqual([null, 0, null, null, 0]);
  });

  it("is not due for an origin that has answered since", () => {
    const choice = new OriginChoice(1);
    attempt(choice, 0, 0, FAILED);
    attempt(choice, 0, 10, answered());
    expect(choice.takeDue(10_000, 4000)).toBeNull();
  });
});

it("counts failures of renders that were under way together once", () => {
  const choice = new OriginChoice(1);
  const together = [1, 2, 3].map(() => choice.begin(0, EXPIRY));
  for (const one of together) choice.end(one, 0, FAILED);
  expect([choice.takeDue(999, 4000), choice.takeDue(1000, 4000)]).toEqual([null, 0]);
});

describe("an attempt", () => {
  it("is under way until it ends, and its end counts once", () => {
    const choice = new OriginChoice(2);
    const begun = choice.begin(0, EXPIRY);
    choice.begin(1, EXPIRY);
    expect(choice.underWay(0)).toBe(2);
    choice.end(begun, 0, { kind: "abandoned" });
    choice.end(begun, 0, FAILED);
    expect(choice.underWay(0)).toBe(1);
    expect(choice.takeDue(900_000, 4000)).toBeNull();
  });

  it("is forgotten when it expires", () => {
    const choice = new OriginChoice(2);
    choice.begin(0, 100);
    expect([choice.underWay(99), choose(choice, 99)]).toEqual([1, 1]);
    expect([choice.underWay(100), choose(choice, 100)]).toEqual([0, 0]);
  });
});
