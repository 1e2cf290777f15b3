/** What many requests share: how often it is gathered, how long it is kept, who waits for it. */
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { type Gathered, SharedAnswer } from "../../../edge/gathered/shared-answer.ts";
import { stopClocks } from "../still-clock.ts";

const TIMEOUT_MILLISECONDS = 5000;

beforeEach(stopClocks);
afterEach(() => {
  vi.useRealTimers();
  vi.restoreAllMocks();
});

/** A request whose client stays until the test lets it leave. */
function clientOf() {
  const client = {
    leave: () => {},
    whenClientLeaves: (callback: () => void) => {
      client.leave = callback;
    },
    inBackground: () => {},
  };
  return client;
}
/** One that gets its answer at once. */
const AT_ONCE = { whenClientLeaves: () => expect.unreachable(), inBackground: () => expect.unreachable() };

function gatherings() {
  const begun: ((value: string) => void)[] = [];
  const gather = () => {
    const { promise, resolve } = Promise.withResolvers<Gathered<string>>();
    begun.push((value) => resolve({ value, keepMilliseconds: 1000, staleMilliseconds: 500 }));
    return promise;
  };
  return { begun, shared: new SharedAnswer<string>(gather, TIMEOUT_MILLISECONDS, () => "unknown") };
}

it("is kept for as long as it says, and a request that finds it asks nothing of its platform", async () => {
  const { begun, shared } = gatherings();
  const first = shared.get(clientOf());
  begun[0]?.("one");
  expect(await first).toBe("one");
  vi.advanceTimersByTime(999);
  expect(await shared.get(AT_ONCE)).toBe("one");
  vi.advanceTimersByTime(1);
  const second = shared.get(clientOf());
  begun[1]?.("two");
  expect(await second).toBe("two");
});

it("is gathered anew by the next request if its time is up, and what comes late ends no later gathering", async () => {
  const { begun, shared } = gatherings();
  void shared.get(clientOf());
  vi.advanceTimersByTime(TIMEOUT_MILLISECONDS + 500);
  const second = shared.get(clientOf());
  expect(begun).toHaveLength(2);
  begun[0]?.("one");
  await Promise.resolve();
  vi.advanceTimersByTime(1500);
  const third = shared.get(clientOf());
  begun[1]?.("two");
  expect(await Promise.all([second, third])).toEqual(["two", "two"]);
  expect(begun).toHaveLength(2);
});

it("is what was last gathered, while it is gathered anew and the last one is not too old", async () => {
  const { begun, shared } = gatherings();
  const first = shared.get(clientOf());
  begun[0]?.("one");
  await first;
  vi.advanceTimersByTime(1000);
  void shared.get(clientOf());
  expect(begun).toHaveLength(2);
  vi.advanceTimersByTime(499);
  expect(await shared.get(AT_ONCE)).toBe("one");
  vi.advanceTimersByTime(1);
  const waiting = shared.get(clientOf());
  begun[1]?.("two");
  expect(await waiting).toBe("two");
});

it("is waited for by 32 requests, and the others are told what stands for nothing known", async () => {
  const { begun, shared } = gatherings();
  const clients = Array.from({ length: 32 }, clientOf);
  const waiting = clients.map((client) => shared.get(client));
  expect(await shared.get(AT_ONCE)).toBe("unknown");
  clients[7]?.leave();
  waiting.push(shared.get(clientOf()));
  expect(await shared.get(AT_ONCE)).toBe("unknown");
  begun[0]?.("one");
  expect(new Set(await Promise.all(waiting))).toEqual(new Set(["one"]));
  expect(begun).toHaveLength(1);
});
