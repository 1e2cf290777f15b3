/** What an answer of a backend gives: for the client, for the choice of backends, and in the log. */
import { describe, expect, it } from "vitest";
import {
  describeBody,
  lengthOf,
  problemOf,
  problemOfLength,
  type ResponseHead,
  readAnswer,
  readProbeAnswer,
} from "../../../edge/backends/backend-answer.ts";
import { DEFAULT_LIMITS } from "../../../rules/limits.ts";
import type { ProblemCode } from "../../../rules/problem.ts";
import { headOf } from "../answer-head.ts";

const LOAD = { running: 1, waiting: 0, slots: 2, isDraining: false };
const LOAD_FIELD = { "X-Service-Load": "running=1,waiting=0,slots=2" };
const MAX_PROBLEM_BYTES = 1024 * 1024;

const withFields = (fields: Record<string, string>): ResponseHead => ({ status: 200, headers: new Headers(fields) });

describe("an answer to a render", () => {
  it("says how busy the backend is, why it is full and when to come back", () => {
    const fields = { "Retry-After": "3", "X-Service-Problem-Cause": "queue_full", ...LOAD_FIELD };
    expect(readAnswer(headOf("render_queue_full", fields))).toEqual({
      kind: "failed",
      failure: "full",
      retryAfterSeconds: 3,
      cause: "queue_full",
      load: LOAD,
      reason: "status 429: queue_full",
    });
    expect(readAnswer(headOf("file", LOAD_FIELD))).toEqual({ kind: "answered", load: LOAD });
  });

  it.each([
    ["a problem of a mebibyte", headOf("render_failed", { "Content-Length": String(MAX_PROBLEM_BYTES) }), "answered"],
    ["a longer one", headOf("render_failed", { "Content-Length": String(MAX_PROBLEM_BYTES + 1) }), "foreign"],
    ["a code of Object", headOf("render_failed", { "X-Service-Problem-Code": "toString" }), "foreign"],
    ["an unknown code", headOf("render_failed", { "X-Service-Problem-Code": "no_such_code" }), "foreign"],
    ["a problem without a code", headOf("render_failed", { "X-Service-Problem-Code": "" }), "foreign"],
    ["a page with a code", headOf("render_failed", { "Content-Type": "text/html" }), "foreign"],
    ["a code with another status", { ...headOf("render_failed"), status: 502 }, "foreign"],
    ["a file with another status", { ...headOf("file"), status: 201 }, "foreign"],
  ])("is a backend's by its head alone: %s", (_what, head, found) => {
    const result = readAnswer(head);
    expect(result.kind === "failed" ? result.failure : result.kind).toBe(found);
  });

  it("of a full backend that gives no cause blames no other backend", () => {
    expect(readAnswer(headOf("render_queue_full"))).toMatchObject({ cause: "slots_busy" });
  });

  it.each([520, 521, 522, 523, 524, 525, 526, 527, 528, 529, 530])(
    "of Cloudflare in place of a backend means that the backend cannot be reached: %i, to a probe as well",
    (status) => {
      const head = { status, headers: new Headers({ "Content-Type": "text/html" }) };
      const reason = `status ${status} of Cloudflare, which had no answer of the backend`;
      // It may have passed the whole request on before the backend failed.
      const mayHaveBegun = status === 520 || status === 524;
      const failed = { failure: "unreachable", mayHaveBegun, reason };
      expect([readAnswer(head), readProbeAnswer(head)]).toMatchObject([failed, failed]);
    },
  );

  it.each([519, 531])("with another status in place of a backend's is foreign: %i", (status) => {
    expect(readAnswer({ status, headers: new Headers() })).toMatchObject({ failure: "foreign" });
  });

  it("names its problem for the log, with a cause if its code has such a cause", () => {
    const cause = { "X-Service-Problem-Cause": "queue_full" };
    expect(problemOf(headOf("render_queue_full", cause))).toEqual({ code: "render_queue_full", cause: "queue_full" });
    expect(problemOf(headOf("render_failed", cause))).toEqual({ code: "render_failed" });
    expect(problemOf(headOf("render_failed", { ...cause, "X-Service-Problem-Code": "toString" }))).toBeNull();
  });

  it.each([
    ["1", 1],
    ["610", 610],
    ["611", 610],
    ["9".repeat(400), 610],
    ["0", 1],
    ["soon", 1],
    ["-5", 1],
    ["0x10", 1],
    ["1.5", 1],
    [null, 1],
  ])("of a full backend with Retry-After %j passes on %i seconds", (text, retryAfterSeconds) => {
    const head = headOf("render_queue_full", text === null ? {} : { "Retry-After": text });
    expect(readAnswer(head)).toMatchObject({ retryAfterSeconds });
  });

  it.each<[ProblemCode | "foreign", string | null, string]>([
    ["foreign", null, "status 502 from something other than a backend"],
    ["forbidden", null, "status 403: it does not accept SERVICE_BACKEND_TOKEN"],
    ["render_queue_full", "queue_full", "status 429: queue_full"],
    ["render_queue_full", "whatever it says", "status 429"],
    ["render_queue_full", null, "status 429"],
    ["invalid_request", null, "status 400"],
  ])("is logged by its status and a cause that is known: %s with %j", (content, cause, reason) => {
    const head = headOf(content, cause === null ? {} : { "X-Service-Problem-Cause": cause });
    expect(readAnswer(head)).toMatchObject({ reason });
  });
});

it.each<[ProblemCode | "file" | "foreign", string]>([
  ["file", "answered"],
  ["render_queue_full", "full"],
  ["template_compile_failed", "unavailable"],
  ["foreign", "unavailable"],
  ["invalid_request", "unavailable"],
  ["forbidden", "unavailable"],
  ["service_unavailable", "unavailable"],
  ["render_timeout", "unavailable"],
  ["render_failed", "unavailable"],
])("an answer to a probe tells of its backend alone, whose document is right: %s", (content, found) => {
  const result = readProbeAnswer(headOf(content, LOAD_FIELD));
  expect([result.kind === "failed" ? result.failure : result.kind, result.load]).toEqual([found, LOAD]);
});

describe("the length of an answer", () => {
  const limit = DEFAULT_LIMITS.max_output_bytes;

  it("is known only if it says so, and if the runtime does not decode it", () => {
    expect(lengthOf(withFields({}))).toBeNull();
    expect(lengthOf(withFields({ "Content-Length": "5" }))).toBe(5);
    expect(lengthOf(withFields({ "Content-Length": "5", "Content-Encoding": "gzip" }))).toBeNull();
  });

  it.each([
    ["a file at the limit", "application/pdf", limit, null],
    ["a file over the limit", "application/pdf", limit + 1, { size: limit + 1, limit }],
    ["a problem at its own limit", "application/problem+json", MAX_PROBLEM_BYTES, null],
    ["a problem over its own limit", "application/problem+json", MAX_PROBLEM_BYTES + 1, { size: limit + 1, limit }],
  ])("is checked by what it is: %s", (_what, type, length, context) => {
    const head = withFields({ "Content-Type": type, "Content-Length": String(length) });
    expect(problemOfLength(describeBody(head, DEFAULT_LIMITS), DEFAULT_LIMITS)?.context ?? null).toEqual(context);
  });
});
