/** What many requests share: how often it is gathered, how long it is kept, who gathers when a client leaves. */
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { type Gathered, SharedAnswer } from "../../../edge/gathered/shared-answer.ts";
import { hastenWaits } from "../still-clock.ts";

const TIMEOUT_MILLISECONDS = 5000;

/** Requests poll on a clock that only they move. */
beforeEach(hastenWaits);
afterEach(() => {
  vi.useRealTimers();
  vi.restoreAllMocks();
});

/** Until that many have begun. `vi.waitFor` would move the clock. */
async function reach(begun: readonly unknown[], count: number): Promise<void> {
  for (let turn = 0; begun.length < count; turn++) {
    if (turn > 1000) expect.unreachable("nobody gathers");
    await new Promise((resolve) => setTimeout(resolve));
  }
}

const staying = () => new AbortController().signal;

function gatherings() {
  const begun: { readonly at: number; end(value: string): void }[] = [];
  const startedAt = Date.now();
  const gather = () => {
    const { promise, resolve } = Promise.withResolvers<Gathered<string>>();
    const end = (value: string) => resolve({ value, keepMilliseconds: 1000, staleMilliseconds: 500 });
    begun.push({ at: Date.now() - startedAt, end });
    return promise;
  };
  const shared = new SharedAnswer<string>(gather, TIMEOUT_MILLISECONDS, () => "unknown");
  return { begun, shared };
}

it("is kept for as long as it says, and a request that finds it uses no signal", async () => {
  const { begun, shared } = gatherings();
  const first = shared.get(staying);
  begun[0]?.end("one");
  expect(await first).toBe("one");
  vi.advanceTimersByTime(999);
  expect(await shared.get(() => expect.unreachable())).toBe("one");
  vi.advanceTimersByTime(1);
  const second = shared.get(staying);
  begun[1]?.end("two");
  expect(await second).toBe("two");
});

it.each([
  ["when its time is up", false, TIMEOUT_MILLISECONDS + 20],
  ["one second after the start if the client has left", true, 1000],
])("is gathered by another request %s", async (_when, leaves, at) => {
  const { begun, shared } = gatherings();
  const client = new AbortController();
  void shared.get(() => client.signal);
  if (leaves) client.abort();
  const waiting = shared.get(staying);
  await reach(begun, 2);
  expect(begun[1]?.at).toBe(at);
  begun[1]?.end("two");
  expect(await waiting).toBe("two");
});

it("is not gathered twice at once because the client of an earlier gathering leaves late", async () => {
  const { begun, shared } = gatherings();
  const client = new AbortController();
  void shared.get(() => client.signal);
  const second = shared.get(staying);
  await reach(begun, 2);
  client.abort();
  const third = shared.get(staying);
  begun[1]?.end("two");
  expect(await Promise.all([second, third])).toEqual(["two", "two"]);
  expect(begun).toHaveLength(2);
});

it("is what was last gathered, while one request gathers it anew and the last one is not too old", async () => {
  const { begun, shared } = gatherings();
  const first = shared.get(staying);
  begun[0]?.end("one");
  await first;
  vi.advanceTimersByTime(1000);
  void shared.get(staying);
  expect(begun).toHaveLength(2);
  vi.advanceTimersByTime(499);
  expect(await shared.get(() => expect.unreachable())).toBe("one");
  vi.advanceTimersByTime(1);
  const waiting = shared.get(staying);
  begun[1]?.end("two");
  expect(await waiting).toBe("two");
});

it("is waited for by 32 requests, and the others are told what stands for nothing known", async () => {
  const { begun, shared } = gatherings();
  const gathering = shared.get(staying);
  const clients = Array.from({ length: 32 }, () => new AbortController());
  const waiting = clients.map(({ signal }) => shared.get(() => signal));
  expect(await shared.get(() => expect.unreachable())).toBe("unknown");
  clients[7]?.abort();
  waiting.push(shared.get(staying));
  expect(await shared.get(() => expect.unreachable())).toBe("unknown");
  begun[0]?.end("one");
  expect(new Set(await Promise.all([gathering, ...waiting]))).toEqual(new Set(["one"]));
});
