/** The limits on a body that arrives slowly or is refused, on a clock that stands still until a test advances it. */
import { once } from "node:events";
import { IncomingMessage } from "node:http";
import { Socket } from "node:net";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { ByteBudget } from "../../../backend/admission/byte-budget.ts";
import { discardBody, readBody } from "../../../backend/http/read-body.ts";
import { DEFAULT_LIMITS } from "../../../rules/limits.ts";

const MEBIBYTE = 1024 ** 2;

beforeEach(() => void vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance"] }));
afterEach(() => void vi.useRealTimers());

/** A request whose head has arrived, and of whose body the test pushes the chunks. */
function messageOf(contentLength = "100"): IncomingMessage {
  const message = new IncomingMessage(new Socket());
  message.headers = { "content-length": contentLength };
  return message;
}

/** A request that will emit no more events. */
async function closedMessage(): Promise<IncomingMessage> {
  const message = messageOf();
  message.destroy();
  await once(message, "close");
  return message;
}

/** Pushes `count` chunks of a body, one every `milliseconds`. */
async function pushEvery(milliseconds: number, count: number, message: IncomingMessage): Promise<void> {
  for (let chunk = 0; chunk < count; chunk++) {
    await vi.advanceTimersByTimeAsync(milliseconds);
    message.push("x");
  }
}

function budgetOf(maxBytes: number, maxBytesPerRequest = maxBytes): ByteBudget {
  return new ByteBudget(maxBytes, maxBytesPerRequest);
}

/** What the promise has resolved with, or "pending". */
async function now<Result>(promise: Promise<Result>): Promise<Result | "pending"> {
  await vi.advanceTimersByTimeAsync(0);
  return Promise.race([promise, Promise.resolve("pending" as const)]);
}

/** That nothing of a request is read or waited for any more. */
function expectLeftAlone(message: IncomingMessage): void {
  expect([vi.getTimerCount(), message.isPaused()]).toEqual([0, true]);
  expect(["data", "end", "close", "error"].map((event) => message.listenerCount(event))).toEqual([0, 0, 0, 0]);
}

function read(message: IncomingMessage, { limits = DEFAULT_LIMITS, budget = budgetOf(MEBIBYTE) } = {}) {
  return readBody(message, limits, budget.open("slow"));
}

const TOO_SLOW = { kind: "refused", problem: expect.objectContaining({ code: "invalid_request" }) };

it.each([
  ["reading a body ends after ten seconds without a chunk", read, TOO_SLOW, 9900, 3, 10_000],
  ["reading a body ends after a minute, however steadily the chunks arrive", read, TOO_SLOW, 100, 599, 100],
  ["discarding one ends after half a second without a chunk", discardBody, false, 400, 2, 500],
  ["discarding one ends after five seconds, however steadily the chunks arrive", discardBody, false, 100, 49, 100],
] as const)("%s", async (_what, start, expected, milliseconds, chunks, lastMilliseconds) => {
  const message = messageOf();
  const ending: Promise<unknown> = start(message);
  await pushEvery(milliseconds, chunks, message);
  await vi.advanceTimersByTimeAsync(lastMilliseconds - 1);
  expect(await now(ending)).toBe("pending");
  await vi.advanceTimersByTimeAsync(1);
  expect(await now(ending)).toEqual(expected);
  expectLeftAlone(message);
});

describe("reading a body", () => {
  it("ends at once if the body declares more than the limit, and with the chunk that exceeds it", async () => {
    const limits = { ...DEFAULT_LIMITS, max_request_body_bytes: 100 };
    const tooLarge = { kind: "refused", problem: { code: "request_too_large" } };
    expect(await now(read(messageOf("101"), { limits }))).toMatchObject(tooLarge);
    const message = messageOf();
    message.headers = { "transfer-encoding": "chunked" };
    const reading = read(message, { limits });
    message.push("x".repeat(100));
    expect(await now(reading)).toBe("pending");
    message.push("x");
    expect(await now(reading)).toMatchObject(tooLarge);
    expectLeftAlone(message);
  });

  it("ends at the chunk for which there is no memory, and says whether the caller's share is used up", async () => {
    const [full, shared] = [budgetOf(2 * MEBIBYTE), budgetOf(2 * MEBIBYTE, MEBIBYTE)];
    full.open("other").resize(2 * MEBIBYTE - 50);
    shared.open("slow").resize(MEBIBYTE - 50);
    for (const [budget, cause] of [
      [full, "body_memory"],
      [shared, "body_memory_share"],
    ] as const) {
      const message = messageOf();
      const reading = read(message, { budget });
      message.push("x".repeat(100));
      const problem = { code: "render_queue_full", cause, context: { retry_after: 2 } };
      expect(await now(reading)).toMatchObject({ kind: "refused", problem });
      expectLeftAlone(message);
    }
  });

  it("ends when the connection closes", async () => {
    const message = messageOf();
    const reading = read(message);
    message.push("x");
    expect(await now(reading)).toBe("pending");
    message.destroy();
    await once(message, "close");
    expect(await now(reading)).toEqual({ kind: "client-gone" });
  });

  it("ends at once if the connection is already closed", async () => {
    expect(await now(read(await closedMessage()))).toEqual({ kind: "client-gone" });
  });
});

describe("discarding the body of a refused request", () => {
  it("ends at the end of the body, which leaves the connection usable", async () => {
    const message = messageOf();
    const discarding = discardBody(message);
    await pushEvery(400, 2, message);
    expect(await now(discarding)).toBe("pending");
    message.complete = true;
    message.push(null);
    expect(await now(discarding)).toBe(true);
  });

  it("ends after 64 MiB", async () => {
    const message = messageOf(String(64 * MEBIBYTE));
    const discarding = discardBody(message);
    const chunk = Buffer.alloc(MEBIBYTE);
    for (let count = 0; count < 64; count++) message.push(chunk);
    expect(await now(discarding)).toBe("pending");
    message.push("x");
    expect(await now(discarding)).toBe(false);
  });

  it("does not begin if the body declares more than 64 MiB, or if the connection is closed", async () => {
    expect(await now(discardBody(messageOf(String(64 * MEBIBYTE + 1))))).toBe(false);
    expect(await now(discardBody(await closedMessage()))).toBe(false);
  });
});
