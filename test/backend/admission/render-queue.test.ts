/** The queue for render slots by itself: cap, order, deadline, clients that leave, and work that throws. */
import { setImmediate } from "node:timers/promises";
import { expect, it } from "vitest";
import { type Applicant, RenderQueue, type RenderQueueOptions } from "../../../backend/admission/render-queue.ts";
import { STEADY_CLOCK } from "../../../backend/render/render-time.ts";

/** The deadline is longer than any test, so nothing here waits for it. */
const OPTIONS: RenderQueueOptions = { slots: 1, maxWaiting: 10, deadlineMilliseconds: 600_000, clock: STEADY_CLOCK };
const NEVER = new AbortController().signal;
const ANYONE: Applicant = { caller: "anyone", signal: NEVER };

it("returns the result of a task and how long the task waited", async () => {
  let seconds = 100;
  const queue = new RenderQueue({ ...OPTIONS, clock: { ...STEADY_CLOCK, now: () => seconds * 1000 } });
  const gate = Promise.withResolvers<void>();
  const first = queue.run(ANYONE, () => gate.promise);
  const second = queue.run(ANYONE, async () => "result");
  await setImmediate();
  seconds = 103;
  gate.resolve();
  expect(await first).toEqual({ kind: "done", result: undefined, waitedSeconds: 0 });
  expect(await second).toEqual({ kind: "done", result: "result", waitedSeconds: 3 });
});

it("runs work that counts for no caller only in a free slot, and never lets it wait", async () => {
  const queue = new RenderQueue(OPTIONS);
  const gate = Promise.withResolvers<void>();
  expect(await queue.runIfFree(async () => "result")).toMatchObject({ kind: "done", result: "result" });
  const first = queue.runIfFree(() => gate.promise);
  const waiting = queue.run(ANYONE, async () => "next");
  expect(await queue.runIfFree(async () => "never")).toMatchObject({ kind: "full", retryAfterSeconds: 1 });
  expect([queue.running, queue.waiting]).toEqual([1, 1]);
  gate.resolve();
  await first;
  expect(await waiting).toMatchObject({ kind: "done", result: "next" });
});

it("frees the slot of a task that throws, and passes the error on", async () => {
  const queue = new RenderQueue(OPTIONS);
  const failure = new Error("the machine failed");
  const gate = Promise.withResolvers<void>();
  const failing = queue.run(ANYONE, async () => {
    await gate.promise;
    throw failure;
  });
  const next = queue.run(ANYONE, async () => "next");
  gate.resolve();
  await expect(failing).rejects.toBe(failure);
  expect(await next).toMatchObject({ kind: "done", result: "next" });
  expect(queue.running).toBe(0);
});

it("counts no task that throws among the quick ones: what waits is not told to come back at once", async () => {
  let seconds = 0;
  const queue = new RenderQueue({ ...OPTIONS, maxWaiting: 0, clock: { ...STEADY_CLOCK, now: () => seconds * 1000 } });
  await queue.run(ANYONE, async () => {
    seconds += 20;
    return "slow";
  });
  for (let failures = 0; failures < 50; failures++) {
    const failing = queue.run(ANYONE, () => Promise.reject(new Error("the machine failed")));
    await expect(failing).rejects.toThrow();
  }
  const gate = Promise.withResolvers<void>();
  const running = queue.run(ANYONE, () => gate.promise);
  expect(await queue.run(ANYONE, async () => "never")).toMatchObject({ kind: "full", retryAfterSeconds: 20 });
  gate.resolve();
  await running;
});

it("gives no slot to a client that has already left", async () => {
  const queue = new RenderQueue(OPTIONS);
  expect(await queue.run({ ...ANYONE, signal: AbortSignal.abort() }, async () => "never")).toEqual({ kind: "left" });
  expect(queue.running).toBe(0);
});

it("keeps no listener on the signal of a task that has run", async () => {
  const queue = new RenderQueue(OPTIONS);
  const signal = new AbortController().signal;
  let listeners = 0;
  const counted = new Proxy(signal, {
    get: (target, property) => {
      if (property === "addEventListener") listeners++;
      if (property === "removeEventListener") listeners--;
      const value: unknown = Reflect.get(target, property);
      return typeof value === "function" ? value.bind(target) : value;
    },
  });
  const gate = Promise.withResolvers<void>();
  const first = queue.run(ANYONE, () => gate.promise);
  const second = queue.run({ ...ANYONE, signal: counted }, async () => "second");
  expect(listeners).toBe(1);
  gate.resolve();
  await Promise.all([first, second]);
  expect(listeners).toBe(0);
});

it.each([
  [1, [1, 1, 1, 1]],
  [2, [2, 2, 1, 1]],
  [4, [4, 4, 2, 1]],
  [8, [8, 8, 4, 2]],
])("shares %i slots out to the renders that run, of which each has one at least", async (slots, shares) => {
  const queue = new RenderQueue({ ...OPTIONS, slots });
  const gate = Promise.withResolvers<void>();
  const found: number[] = [];
  const admitted: Promise<unknown>[] = [];
  for (let running = 0; running < shares.length; running++) {
    found.push(queue.shareOfSlots());
    admitted.push(queue.run(ANYONE, () => gate.promise));
    await setImmediate();
  }
  gate.resolve();
  await Promise.all(admitted);
  expect(found).toEqual(shares);
});

it("counts no probe in the shares, while it runs or later: the edge sends some during a long render", async () => {
  const queue = new RenderQueue({ ...OPTIONS, slots: 6, clock: { ...STEADY_CLOCK, now: () => 5000 } });
  const gate = Promise.withResolvers<void>();
  const render = queue.run(ANYONE, () => gate.promise);
  await setImmediate();
  const found = [queue.shareOfSlots()];
  await queue.runIfFree(async () => void found.push(queue.shareOfSlots()));
  found.push(queue.shareOfSlots());
  expect(found).toEqual([6, 6, 6]);
  gate.resolve();
  await render;
});

it("counts the renders of the last second in the shares, because between two requests of a busy client fewer run", async () => {
  let milliseconds = 5000;
  const queue = new RenderQueue({ ...OPTIONS, slots: 6, clock: { now: () => milliseconds, after: () => () => {} } });
  const gates = [1, 2, 3].map(() => Promise.withResolvers<void>());
  const renders = gates.map(({ promise }) => queue.run(ANYONE, () => promise));
  const end = async (index: number, at: number) => {
    milliseconds = at;
    gates[index]?.resolve();
    await renders[index];
  };
  const sharesAt = (at: number) => {
    milliseconds = at;
    return queue.shareOfSlots();
  };
  await setImmediate();
  expect(sharesAt(5000)).toBe(2);
  await end(0, 5000);
  await end(1, 5950);
  expect(sharesAt(6940)).toBe(2);
  await end(2, 6950);
  expect(sharesAt(7940)).toBe(6);
  expect(sharesAt(9000)).toBe(6);
});
