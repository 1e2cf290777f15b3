/** What an answer of a backend means: for the client, for the choice of backends, and in the log. */
import { describe, expect, it } from "vitest";
import {
  type AnswerContent,
  answerOf,
  type BackendAnswer,
  causeFieldOf,
  causeOf,
  lengthOf,
  meaningOf,
  probeResultOf,
  problemOfLength,
  resultOf,
} from "../../../edge/backends/backend-answer.ts";
import type { BackendLoad } from "../../../protocol/backend-load.ts";
import { DEFAULT_LIMITS } from "../../../rules/limits.ts";

const LOAD: BackendLoad = { running: 1, waiting: 0, slots: 2, isDraining: false };
const DRAINING: BackendLoad = { ...LOAD, isDraining: true };
const MAX_PROBLEM_BYTES = 1024 * 1024;

const answerWith = (content: AnswerContent, more: Partial<BackendAnswer<null>> = {}): BackendAnswer<null> => ({
  status: 200,
  content,
  retryAfter: null,
  load: LOAD,
  answer: null,
  ...more,
});

const response = (fields: Record<string, string>, status = 200) => new Response(null, { status, headers: fields });
const problem = (code: string, fields: Record<string, string> = {}) =>
  response({ "Content-Type": "application/problem+json", "X-Service-Problem-Code": code, ...fields }, 429);

describe("the head of an answer", () => {
  it("says what it is, how busy the backend is and when to come back", () => {
    const fields = {
      "Retry-After": "3",
      "X-Service-Load": "running=1,waiting=0,slots=2",
      "X-Service-Problem-Cause": "a",
    };
    const answer = problem("render_queue_full", fields);
    const read = { status: 429, content: "render_queue_full", retryAfter: "3", cause: "a", load: LOAD, answer };
    expect(answerOf(answer)).toEqual(read);
  });

  it.each([
    ["is read up to a mebibyte", MAX_PROBLEM_BYTES, "render_queue_full"],
    ["beyond a mebibyte is no backend's", MAX_PROBLEM_BYTES + 1, "foreign"],
  ])("of a problem %s", (_what, length, content) => {
    expect(answerOf(problem("render_queue_full", { "Content-Length": String(length) })).content).toBe(content);
  });

  it.each(["toString", "no_such_code", ""])("with the code %j is no backend's", (code) => {
    expect(answerOf(problem(code)).content).toBe("foreign");
    expect(causeFieldOf(problem(code))).toEqual({});
  });

  it("names the cause of its problem for the log", () => {
    const cause = { "X-Service-Problem-Cause": "queue_full" };
    expect(causeFieldOf(problem("render_queue_full", cause))).toEqual({ capacityCause: "queue_full" });
  });

  it("has a length only if it says so, and if the runtime does not decode it", () => {
    expect(lengthOf(response({}))).toBeNull();
    expect(lengthOf(response({ "Content-Length": "5" }))).toBe(5);
    expect(lengthOf(response({ "Content-Length": "5", "Content-Encoding": "gzip" }))).toBeNull();
  });
});

describe("the length of an answer", () => {
  const limit = DEFAULT_LIMITS.max_output_bytes;

  it.each([
    ["a file at the limit", "application/pdf", limit, null],
    ["a file over the limit", "application/pdf", limit + 1, { size: limit + 1, limit }],
    ["a problem at its own limit", "application/problem+json", MAX_PROBLEM_BYTES, null],
    ["a problem over its own limit", "application/problem+json", MAX_PROBLEM_BYTES + 1, { size: limit + 1, limit }],
  ])("is checked by what it is: %s", (_what, type, length, context) => {
    const found = problemOfLength(response({ "Content-Type": type, "Content-Length": String(length) }), DEFAULT_LIMITS);
    expect(found?.context ?? null).toEqual(context);
  });
});

describe("an answer to a render tells of its backend", () => {
  it.each<[AnswerContent, BackendLoad | null, object]>([
    ["file", LOAD, { kind: "answered", load: LOAD }],
    ["template_compile_failed", null, { kind: "answered", load: null }],
    ["render_queue_full", LOAD, { kind: "full", load: LOAD }],
    ["invalid_request", LOAD, { kind: "abandoned" }],
    ["foreign", null, { kind: "failed" }],
    ["service_unavailable", LOAD, { kind: "failed" }],
    ["service_unavailable", DRAINING, { kind: "answered", load: DRAINING }],
  ])("by %s", (content, load, result) => {
    expect(resultOf(answerWith(content, { load }))).toEqual(result);
  });
});

describe("an answer to a probe tells of its backend", () => {
  it.each<[AnswerContent, BackendLoad | null, object]>([
    ["file", LOAD, { kind: "answered", load: LOAD }],
    ["template_compile_failed", LOAD, { kind: "failed" }],
    ["render_queue_full", LOAD, { kind: "full", load: LOAD }],
    ["foreign", null, { kind: "failed" }],
    ["service_unavailable", DRAINING, { kind: "answered", load: DRAINING }],
  ])("by %s", (content, load, result) => {
    expect(probeResultOf(answerWith(content, { load }))).toEqual(result);
  });
});

it.each([
  ["1", 1],
  ["900", 900],
  ["901", 900],
  ["0", 1],
  ["soon", 1],
  ["1.5", 1],
  [null, 1],
])("a full backend that says Retry-After %j has room after %i seconds", (retryAfter, retryAfterSeconds) => {
  expect(meaningOf(answerWith("render_queue_full", { retryAfter }))).toMatchObject({ kind: "busy", retryAfterSeconds });
});

it.each<[AnswerContent, number, string | null, string]>([
  ["foreign", 502, null, "status 502 from something other than a backend"],
  ["forbidden", 403, null, "status 403: it does not accept SERVICE_BACKEND_TOKEN"],
  ["render_queue_full", 429, "queue_full", "status 429: queue_full"],
  ["render_queue_full", 429, "whatever it says", "status 429"],
  ["render_queue_full", 429, null, "status 429"],
  ["invalid_request", 400, null, "status 400"],
])("the log says of %s with %i and the cause %j: %4$s", (content, status, cause, text) => {
  expect(causeOf(answerWith(content, { status, cause }))).toBe(text);
});
