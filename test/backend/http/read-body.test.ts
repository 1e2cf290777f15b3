/** The limits on a body that arrives slowly or is refused, on a clock that stands still until a test advances it. */
import { once } from "node:events";
import { IncomingMessage } from "node:http";
import { Socket } from "node:net";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { ByteBudget } from "../../../backend/admission/byte-budget.ts";
import { drainBody, readBody } from "../../../backend/http/read-body.ts";
import { DEFAULT_LIMITS } from "../../../rules/limits.ts";

const MEBIBYTE = 1024 ** 2;

beforeEach(() => void vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] }));
afterEach(() => void vi.useRealTimers());

/** A request whose head has arrived, and of whose body the test pushes the pieces. */
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

/** Pushes a piece of a body each time that so many milliseconds have passed. */
async function pushEvery(milliseconds: number, count: number, message: IncomingMessage): Promise<void> {
  for (let piece = 0; piece < count; piece++) {
    await vi.advanceTimersByTimeAsync(milliseconds);
    message.push("x");
  }
}

/** What the promise has resolved with, or "pending". */
async function now<Result>(promise: Promise<Result>): Promise<Result | "pending"> {
  await vi.advanceTimersByTimeAsync(0);
  return Promise.race([promise, Promise.resolve("pending" as const)]);
}

describe("reading a body", () => {
  const TOO_SLOW = { kind: "refused", problem: { code: "invalid_request" } };

  function read(message: IncomingMessage) {
    const memory = new ByteBudget({ maxBytes: MEBIBYTE, maxBytesPerRequest: MEBIBYTE }).open("slow");
    return readBody(message, DEFAULT_LIMITS, memory);
  }

  it("gives the body, which stays as it is after the deadlines", async () => {
    const message = messageOf();
    const reading = read(message);
    message.push("the body");
    message.push(null);
    const body = await now(reading);
    await vi.advanceTimersByTimeAsync(60_000);
    expect(body).toEqual({ kind: "body", body: new TextEncoder().encode("the body") });
  });

  it("ends after ten seconds without a piece", async () => {
    const message = messageOf();
    const reading = read(message);
    await pushEvery(9900, 3, message);
    await vi.advanceTimersByTimeAsync(9900);
    expect(await now(reading)).toBe("pending");
    await vi.advanceTimersByTimeAsync(100);
    expect(await now(reading)).toMatchObject(TOO_SLOW);
  });

  it("ends after a minute, however steadily the pieces arrive", async () => {
    const message = messageOf();
    const reading = read(message);
    await pushEvery(100, 599, message);
    expect(await now(reading)).toBe("pending");
    await pushEvery(100, 1, message);
    expect(await now(reading)).toMatchObject(TOO_SLOW);
  });

  it("ends at once if the connection is already closed", async () => {
    expect(await now(read(await closedMessage()))).toEqual({ kind: "aborted" });
  });
});

describe("draining the body of a refused request", () => {
  it("ends at the end of the body, which leaves the connection usable", async () => {
    const message = messageOf();
    const draining = drainBody(message);
    await pushEvery(400, 2, message);
    expect(await now(draining)).toBe("pending");
    message.complete = true;
    message.push(null);
    expect(await now(draining)).toBe(true);
  });

  it("ends after half a second without a piece", async () => {
    const message = messageOf();
    const draining = drainBody(message);
    await pushEvery(400, 2, message);
    await vi.advanceTimersByTimeAsync(499);
    expect(await now(draining)).toBe("pending");
    await vi.advanceTimersByTimeAsync(1);
    expect(await now(draining)).toBe(false);
  });

  it("ends after five seconds, however steadily the pieces arrive", async () => {
    const message = messageOf();
    const draining = drainBody(message);
    await pushEvery(100, 49, message);
    expect(await now(draining)).toBe("pending");
    await pushEvery(100, 1, message);
    expect(await now(draining)).toBe(false);
  });

  it("ends after 64 MiB", async () => {
    const message = messageOf(String(64 * MEBIBYTE));
    const draining = drainBody(message);
    const piece = Buffer.alloc(MEBIBYTE);
    for (let count = 0; count < 64; count++) message.push(piece);
    expect(await now(draining)).toBe("pending");
    message.push("x");
    expect(await now(draining)).toBe(false);
  });

  it("does not begin if the body declares more than 64 MiB, or if the connection is closed", async () => {
    expect(await now(drainBody(messageOf(String(64 * MEBIBYTE + 1))))).toBe(false);
    expect(await now(drainBody(await closedMessage()))).toBe(false);
  });
});
