/** When the client sends a request again, and how long it waits before that. */
import { getEventListeners } from "node:events";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { makeBrokenTransferError, makeConnectionError, makeGatewayError } from "../../../clients/typescript/errors.ts";
import {
  type Failure,
  type RetryPolicy,
  readRetryAfter,
  retryPolicy,
  wait,
  waitBeforeRetry,
  worthOf,
} from "../../../clients/typescript/retry.ts";
import { asServiceProblem } from "../../../clients/typescript/service-problem.ts";
import { type Problem, problem, problemDocument } from "../../../rules/problem.ts";

const POLICY = retryPolicy({ maxAttempts: 3, maxTotalSeconds: 10 });

const URL_OF_SERVICE = new URL("http://render.example");

type Failed = readonly [attempt: number, elapsedSeconds: number, retryAfterSeconds: number | null];

function waitAfter(policy: RetryPolicy, [attempts, elapsedSeconds, asked]: Failed, random: number): number | null {
  const failure = makeGatewayError(URL_OF_SERVICE, 503, asked);
  return waitBeforeRetry(policy, { attempts, elapsedSeconds, failure }, random);
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

describe("another try", () => {
  it.each<[worth: string, what: string, failure: Failure]>([
    ["busy", "a gateway's 429", makeGatewayError(URL_OF_SERVICE, 429, null)],
    ["busy", "a gateway's 503 that says how long", makeGatewayError(URL_OF_SERVICE, 503, 30)],
    ["again", "a gateway's 503", makeGatewayError(URL_OF_SERVICE, 503, null)],
    ["again", "an answer that breaks off", makeBrokenTransferError(URL_OF_SERVICE)],
    ["busy", "a service without a free slot", asFailure(problem("render_queue_full", "Full.", { retry_after: 1 }))],
    ["never", "a problem of the request", asFailure(problem("forbidden", "No.", {}))],
  ])("is worth %s after %s", (worth, _what, failure) => {
    expect(worthOf(failure)).toBe(worth);
  });

  it.each([
    ["ECONNREFUSED", "refused", "again"],
    ["EAI_AGAIN", "name_not_found", "again"],
    ["ENOTFOUND", "name_not_found", "never"],
    ["EHOSTUNREACH", "no_route", "again"],
    ["CERT_HAS_EXPIRED", "certificate", "never"],
    ["ERR_TLS_CERT_ALTNAME_INVALID", "certificate", "never"],
    ["SELF_SIGNED_CERT_IN_CHAIN", "certificate", "never"],
    ["EPROTO", "wrong_protocol", "never"],
    // That of Node's own patience, of five minutes.
    ["UND_ERR_HEADERS_TIMEOUT", "no_answer", "again"],
    ["UND_ERR_CONNECT_TIMEOUT", "timed_out", "again"],
    ["ETIMEDOUT", "timed_out", "again"],
    ["ECONNRESET", "connection_broken", "again"],
    ["UND_ERR_SOCKET", "connection_broken", "again"],
    ["EMFILE", "unknown", "again"],
  ])("after the error %s of a connection, which is %s, is worth %s", (code, reason, worth) => {
    const cause = new AggregateError([Object.assign(new Error("no"), { code })]);
    const failure = makeConnectionError(URL_OF_SERVICE, new TypeError("fetch failed", { cause }));
    expect([failure.reason, worthOf(failure)]).toEqual([reason, worth]);
  });

  it("is made as often as it may while the service is busy, which may be more often than else", () => {
    const policy = retryPolicy({ maxAttempts: 1, maxBusyAttempts: 3 });
    expect(waitAfter(policy, [2, 0, 1], 0)).toBe(1);
    expect(waitAfter(policy, [3, 0, 1], 0)).toBeNull();
    expect(waitAfter(policy, [1, 0, null], 0)).toBeNull();
  });
});

function asFailure(known: Problem): Failure {
  const failure = asServiceProblem(problemDocument(known, "http://render.example#id"));
  if (failure === null) throw new Error("no problem");
  return failure;
}

const DATE = "Sat, 21 Nov 2026 20:59:30 GMT";

it.each([
  ["0", 0],
  [" 120 ", 120],
  ["300", 300],
  ["301", 300],
  ["-1", null],
  ["", null],
  ["soon", null],
  ["2026-11-21T21:00:00Z", null],
  ["Sat, 21 Nov 2026 21:00:00 GMT", 30],
  ["Saturday, 21-Nov-26 21:00:00 GMT", 30],
  ["Sat Nov 21 21:00:00 2026", 30],
  ["Sat, 21 Nov 2026 20:59:00 GMT", 0],
  ["Sun, 22 Nov 2026 21:00:00 GMT", 300],
  ["Sat, 42 Nov 2026 21:00:00 GMT", null],
])("Retry-After %j is read as %j seconds", (field, seconds) => {
  expect(readRetryAfter(new Headers({ "Retry-After": field, Date: DATE }))).toBe(seconds);
});

it("a date in Retry-After counts from now if the answer has no date of its own", () => {
  const later = new Date(Date.now() + 60_000).toUTCString();
  const seconds = readRetryAfter(new Headers({ "Retry-After": later })) ?? 0;
  // The date has whole seconds.
  expect(seconds).toBeGreaterThan(50);
  expect(seconds).toBeLessThanOrEqual(60);
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
