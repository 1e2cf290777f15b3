/** What answers and probes tell of backends. All times are the test's own. */
import { beforeEach, describe, expect, it } from "vitest";
import { type AttemptResult, failedAttempt } from "../../../edge/backends/backend-answer.ts";
import { BackendChoice, type Probe } from "../../../edge/backends/backend-choice.ts";
import type { Backend } from "../../../edge/platform/platform.ts";
import type { BackendLoad } from "../../../protocol/headers.ts";
import { stubBackends } from "../stub-backends.ts";

const [A, B, C, D] = stubBackends("a", "b", "c", "d");
const NONE: ReadonlySet<Backend> = new Set();
const EXPIRY = 1_000_000;
/** Two backends that are equally good are taken by place. */
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
const FAILED = failedAttempt("lost", "");
const full = (told: BackendLoad | null = null): AttemptResult => {
  return { kind: "failed", failure: "full", retryAfterSeconds: 1, cause: "slots_busy", load: told, reason: "" };
};

let choice: BackendChoice;
beforeEach(() => {
  choice = new BackendChoice([A, B]);
});

/** One attempt that begins and ends at once. */
function attempt(backend: Backend, now: number, result: AttemptResult): void {
  choice.end(choice.begin(backend, now, EXPIRY), now, result);
}

/** The only probe that is due. */
function takeProbe(now: number): Probe {
  const [probe, ...others] = choice.takeDue(now);
  if (probe === undefined || others.length > 0) throw new Error(`not one probe is due, but ${others.length}`);
  return probe;
}

/** A probe that begins and ends at once. */
function probe(now: number, result: AttemptResult): void {
  choice.recordProbe(takeProbe(now), now, result);
}

/** Takes a backend out of use, as a failed render and a failed probe do. */
function lose(backend: Backend, now: number): void {
  attempt(backend, now, FAILED);
  probe(now, FAILED);
}

const dueBackends = (now: number) => choice.takeDue(now).map(({ backend }) => backend);

const choose = (now: number, excluded = NONE) => choice.choose(now, excluded, first);

describe("of two backends", () => {
  it("the one that reports fewer renders per slot is chosen", () => {
    attempt(A, 0, answered({ running: 2, waiting: 1, slots: 2 }));
    attempt(B, 0, answered({ running: 4, slots: 4 }));
    expect(choose(0)).toBe(B);
  });

  it("the reported load counts for five seconds, and so do the renders begun since", () => {
    attempt(A, 0, answered({ running: 1 }));
    expect([choose(5000), choose(5001)]).toEqual([B, A]);
    attempt(B, 5000, answered({ running: 1 }));
    attempt(A, 5000, answered({ running: 1 }));
    const begun = choice.begin(A, 0, EXPIRY);
    choice.abandon(begun);
    expect(choose(5000)).toBe(B);
    // Those begun before a report are in it.
    for (const told of [null, null, {}]) attempt(A, 5000, answered(told));
    expect(choose(5000)).toBe(A);
  });

  it("one at which renders and probes fail is out of use until a probe is answered, and then chosen less often for a while", () => {
    lose(A, 0);
    expect([choice.isOutOfUse(A), choose(900_000)]).toEqual([true, B]);
    probe(1000, answered());
    expect(choice.isOutOfUse(A)).toBe(false);
    choice.begin(B, 1000, EXPIRY);
    expect([choose(1000), choose(1900), choose(2100)]).toEqual([B, B, A]);
  });

  it("one that drains is chosen only when the other is excluded, for thirty seconds", () => {
    attempt(A, 0, answered({ isDraining: true }));
    expect(choose(29_999)).toBe(B);
    expect(choose(29_999, new Set([B]))).toBe(A);
    expect(choose(30_000)).toBe(A);
  });

  it("one that drains is better than one that is suspect, and that is better than one that is out of use", () => {
    choice = new BackendChoice([A, B, C]);
    attempt(A, 0, answered({ isDraining: true }));
    lose(B, 0);
    attempt(C, 0, FAILED);
    expect(choose(1)).toBe(A);
    expect(choose(1, new Set([A]))).toBe(C);
    expect(choose(1, new Set([A, C]))).toBe(B);
    expect(choice.hasInUse(1, NONE)).toBe(false);
  });
});

describe("a caller's renders do not take a backend out of use", () => {
  it("nor back from there, if they fail or find it full", () => {
    lose(A, 0);
    attempt(A, 1, FAILED);
    expect(choice.isOutOfUse(A)).toBe(true);
    attempt(B, 1, full());
    expect(choice.hasInUse(1, new Set([A]))).toBe(true);
  });
});

describe("when backends come and go", () => {
  it("keeps what is known of those that stay, and forgets those that go", () => {
    lose(A, 1000);
    choice.keep([A, C]);
    expect([choice.isOutOfUse(A), choose(1000), choose(1000, new Set([A, C]))]).toEqual([true, C, null]);
    choice.keep([C]);
    choice.keep([A, C]);
    expect([choice.isOutOfUse(A), choose(1000, new Set([C]))]).toEqual([false, A]);
  });

  it("knows which have ever answered", () => {
    attempt(A, 0, FAILED);
    probe(0, FAILED);
    attempt(B, 0, answered());
    lose(B, 1);
    expect([A, B, C].map((backend) => choice.hasAnswered(backend))).toEqual([false, true, false]);
  });

  it("drops what is still heard of one that has gone, also if it is there again", () => {
    const begun = choice.begin(A, 0, EXPIRY);
    choice.end(choice.begin(A, 0, EXPIRY), 0, FAILED);
    const due = takeProbe(0);
    choice.keep([B]);
    choice.recordProbe(due, 1, FAILED);
    choice.end(begun, 1, FAILED);
    choice.keep([A, B]);
    choice.recordProbe(due, 1, FAILED);
    choice.end(begun, 1, FAILED);
    expect([choice.isOutOfUse(A), choice.countUnderWay(1), dueBackends(1)]).toEqual([false, 0, [A]]);
    expect([choice.hasFailedSince(A, 0), choice.wasIdleSince(A, 0)]).toEqual([false, false]);
  });
});

describe("the cheapest backend", () => {
  const LOADED = { running: 2, waiting: 1, slots: 2, isDraining: false };

  it("is one that is known to have a free slot, then one of which nothing is known, then one with less to do", () => {
    choice = new BackendChoice([A, B, C, D]);
    choice.recordLoad(A, 0, LOADED);
    choice.recordLoad(B, 0, { ...LOADED, running: 1, waiting: 0 });
    choice.recordLoad(D, 0, { ...LOADED, waiting: 5 });
    const order: Backend[] = [];
    for (let next = choice.chooseCheapest(0, NONE, first); next !== null; ) {
      order.push(next);
      next = choice.chooseCheapest(0, new Set(order), first);
    }
    expect(order).toEqual([B, C, A, D]);
    expect([choice.hasFreeSlot(0, NONE), choice.hasFreeSlot(0, new Set([B]))]).toEqual([true, false]);
    expect(choice.pickUnknown(0, NONE, 6, first)).toEqual([C]);
    expect(choice.pickUnknown(5001, NONE, 3, first)).toHaveLength(3);
  });

  it("is not one that was full within a second, unless it has said since that a slot is free", () => {
    attempt(A, 0, full({ ...LOADED, running: 0, waiting: 0 }));
    choice.recordLoad(B, 0, LOADED);
    expect([choice.chooseCheapest(999, NONE, first), choice.listHopeless(999)]).toEqual([B, [A]]);
    expect([choice.chooseCheapest(1000, NONE, first), choice.listHopeless(1000)]).toEqual([A, []]);
    attempt(A, 1000, full());
    choice.recordLoad(A, 1001, { ...LOADED, running: 1, waiting: 0 });
    expect(choice.listHopeless(1001)).toEqual([]);
  });
});

it("an attempt counts no longer than its time: workerd does not resume a request whose client has left", () => {
  choice.begin(A, 0, 1000);
  expect([choice.countUnderWay(999), choice.countUnderWay(1000)]).toEqual([1, 0]);
});

it("chooses none if all are excluded", () => {
  expect(choose(0, new Set([A, B]))).toBeNull();
  choice = new BackendChoice([]);
  expect(choose(0)).toBeNull();
});

it("spreads renders over many equal backends", () => {
  choice = new BackendChoice([A, B, C, D]);
  let state = 1;
  const random = () => {
    state = (state * 16_807) % 2_147_483_647;
    return state / 2_147_483_647;
  };
  const counts = new Map([A, B, C, D].map((backend) => [backend, 0]));
  for (let count = 0; count < 400; count++) {
    const backend = choice.choose(0, NONE, random) ?? A;
    choice.begin(backend, 0, EXPIRY);
    counts.set(backend, (counts.get(backend) ?? 0) + 1);
  }
  expect(Math.max(...counts.values()) - Math.min(...counts.values())).toBeLessThanOrEqual(4);
});

describe("a probe", () => {
  it("is handed out once, and again after a second without a result; failures at the same time count once", () => {
    attempt(A, 0, FAILED);
    const probes = [takeProbe(0)];
    expect([1, 999].map((now) => choice.takeDue(now).length)).toEqual([0, 0]);
    probes.push(takeProbe(1000));
    for (const one of probes) choice.recordProbe(one, 5000, FAILED);
    expect(choice.isOutOfUse(A)).toBe(true);
    expect([dueBackends(5999), dueBackends(6000)]).toEqual([[], [A]]);
  });

  it("is due for a backend that has had a render for three seconds and has answered nothing that came later", () => {
    const silent = choice.begin(A, 0, EXPIRY);
    expect([dueBackends(2999), dueBackends(3000)]).toEqual([[], [A]]);
    choice.abandon(silent);
    choice.begin(B, 0, EXPIRY);
    const later = choice.begin(B, 2000, EXPIRY);
    choice.end(later, 2500, answered());
    expect([dueBackends(4999), dueBackends(5000)]).toEqual([[], [B]]);
  });

  it("is not due if there is only one backend", () => {
    choice = new BackendChoice([A]);
    attempt(A, 0, FAILED);
    expect(choice.takeDue(10_000)).toEqual([]);
  });

  it("of one that is out of use is repeated after its pause if it has no result: what is not there answers nothing at all", () => {
    lose(A, 0);
    for (const now of [10_000, 20_000, 30_000]) probe(now, FAILED);
    const due: number[] = [];
    for (let now = 33_000; now < 50_000; now += 500) if (choice.takeDue(now).length > 0) due.push(now);
    expect(due.slice(0, 3)).toEqual([33_000, 36_000, 39_000]);
  });

  it("that fails takes no backend out of use that has answered meanwhile", () => {
    attempt(A, 0, FAILED);
    const slow = takeProbe(0);
    attempt(A, 1000, full());
    choice.recordProbe(slow, 5000, FAILED);
    expect(choice.isOutOfUse(A)).toBe(false);
  });

  it("that fails is repeated after one second, then two, then three, and after one again if it was answered in between", () => {
    lose(A, 0);
    for (const now of [1000, 3000]) probe(now, FAILED);
    expect([dueBackends(5999), takeProbe(6000).backend]).toEqual([[], A]);
    probe(9000, answered());
    lose(A, 10_000);
    expect([dueBackends(10_999), dueBackends(11_000)]).toEqual([[], [A]]);
  });

  it("is due every two seconds for one that is about to stop, so that its successor is known", () => {
    attempt(A, 0, answered({ isDraining: true }));
    expect([dueBackends(1999), dueBackends(2000)]).toEqual([[], [A]]);
    probe(3000, answered({ isDraining: true }));
    expect([dueBackends(4999), choose(4999)]).toEqual([[], B]);
    probe(5000, answered({ isDraining: false }));
    choice.begin(B, 5000, EXPIRY);
    expect([dueBackends(7000), choose(7000)]).toEqual([[], A]);
  });
});

const failed = (failure: Parameters<typeof failedAttempt>[0], told: BackendLoad | null) => {
  return { ...failedAttempt(failure, ""), load: told };
};

it.each<[string, AttemptResult, "in use" | "full" | "draining" | "suspect"]>([
  ["an answer", answered({}), "in use"],
  ["a full backend", full(load({})), "full"],
  ["a backend that finds fault with the request", failed("refused_request", load({})), "in use"],
  ["a backend that fails", failed("unavailable", load({})), "suspect"],
  ["a backend that fails because it is about to stop", failed("unavailable", load({ isDraining: true })), "draining"],
  ["a full backend that is about to stop", full(load({ isDraining: true })), "draining"],
])("a result of %s: %s", (_what, result, state) => {
  attempt(A, 0, result);
  expect(choice.hasInUse(0, new Set([B]))).toBe(state === "in use" || state === "full");
  expect(choice.listHopeless(0)).toEqual(state === "full" ? [A] : []);
  expect(dueBackends(0)).toEqual(state === "suspect" ? [A] : []);
});

it("a backend counts as idle from the time of a request whose answer says that nothing runs or waits", () => {
  attempt(A, 10, answered({ running: 1 }));
  attempt(A, 20, answered({ waiting: 1 }));
  attempt(A, 25, answered({ running: 1, waiting: 1 }));
  expect(choice.wasIdleSince(A, 5)).toBe(false);
  const early = choice.begin(A, 30, EXPIRY);
  choice.end(early, 90, answered({}));
  expect([choice.wasIdleSince(A, 29), choice.wasIdleSince(A, 30)]).toEqual([true, false]);
});
