/** When the client sends a request again, and how long it waits before that. */
import { getEventListeners } from "node:events";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import {
  parseRetryAfter,
  type RetryPolicy,
  retryPolicy,
  wait,
  waitBeforeRetry,
} from "../../../clients/typescript/retry.ts";

const POLICY = retryPolicy({ maxAttempts: 3, maxTotalSeconds: 10 });

type Failed = readonly [attempt: number, elapsedSeconds: number, retryAfterSeconds: number | null];

function waitAfter(policy: RetryPolicy, [attempt, elapsedSeconds, asked]: Failed, random: number): number | null {
  return waitBeforeRetry(policy, { attempts: attempt, elapsedSeconds, retryAfterSeconds: asked }, random);
}

describe("the wait before another attempt", () => {
  it("is never shorter than Retry-After, and longer by a random part", () => {
    expect(waitAfter(POLICY, [1, 0, 4], 0)).toBe(4);
    expect(waitAfter(POLICY, [1, 0, 4], 1)).toBe(4.5);
    expect(waitAfter(POLICY, [2, 0, 4], 1)).toBe(5);
  });

  it("doubles with each attempt, up to a bound, if the answer does not say how long", () => {
    const policy = retryPolicy({ maxAttempts: 20, maxTotalSeconds: 1000 });
    const waits = Array.from({ length: 7 }, (_, index) => waitAfter(policy, [index + 1, 0, null], 0));
    expect(waits).toEqual([0.5, 1, 2, 4, 8, 8, 8]);
    expect(waitAfter(policy, [1, 0, null], 1)).toBe(1);
  });

  it("is not begun after the last attempt", () => {
    expect(waitAfter(POLICY, [2, 0, 0], 0)).toBe(0);
    expect(waitAfter(POLICY, [3, 0, 0], 0)).toBeNull();
  });

  it("is not begun if it would end after the total time", () => {
    expect(waitAfter(POLICY, [1, 6, 4], 0)).toBe(4);
    expect(waitAfter(POLICY, [1, 6.001, 4], 0)).toBeNull();
    expect(waitAfter(POLICY, [1, 0, 3600], 0)).toBeNull();
  });

  it("is absent without retries", () => {
    expect(waitAfter(retryPolicy(false), [1, 0, 0], 0)).toBeNull();
  });
});

it.each([
  ["0", 0],
  ["120", 120],
  ["300", 300],
  ["301", 300],
  ["-1", null],
  ["", null],
  ["Sat, 21 Nov 2026 21:00:00 GMT", null],
  [null, null],
])("Retry-After %j is read as %j seconds", (field, seconds) => {
  expect(parseRetryAfter(field)).toBe(seconds);
});

describe("a wait", () => {
  it("ends with the signal's reason as soon as the signal is aborted", async () => {
    vi.useFakeTimers();
    onTestFinished(() => void vi.useRealTimers());
    const controller = new AbortController();
    const waiting = wait(3600, controller.signal);
    controller.abort(new Error("enough"));
    await expect(waiting).rejects.toThrow("enough");
    expect(vi.getTimerCount()).toBe(0);
    await expect(wait(3600, controller.signal)).rejects.toThrow("enough");
  });

  it("leaves no listener at the signal", async () => {
    const { signal } = new AbortController();
    await wait(0, signal);
    expect(getEventListeners(signal, "abort")).toEqual([]);
  });
});
