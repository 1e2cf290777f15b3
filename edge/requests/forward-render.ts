/** Forwards a validated render to the backends by HTTP. `try-backends.ts` decides which of them, when and how often. */
import {
  BACKEND_TOKEN_HEADER,
  type BackendLoad,
  CALLER_HEADER,
  FORWARDED_PREFIX_HEADER,
  LIMITS_HEADER,
  LOAD_HEADER,
  PROBE_CALLER,
  parseBackendLoad,
  parseForwardedPrefix,
  REQUEST_ID_HEADER,
  TIME_BUDGET_HEADER,
} from "../../protocol/headers.ts";
import {
  formatTraceparent,
  parseTraceparent,
  shortenTracestate,
  TRACEPARENT_HEADER,
  TRACESTATE_HEADER,
} from "../../protocol/trace-context.ts";
import { NEXT_STEPS } from "../../rules/causes.ts";
import type { Problem } from "../../rules/problem.ts";
import { longestAnswerMilliseconds } from "../../rules/render-time.ts";
import { ask } from "../backends/backend.ts";
import type { FailedAttempt } from "../backends/backend-answer.ts";
import { RenderAttempts } from "../backends/render-attempts.ts";
import { type Sending, tryBackends } from "../backends/try-backends.ts";
import type { BodyReservation } from "../body/body-memory.ts";
import { deploymentOf, type EdgeContext } from "../context.ts";
import type { Backend, BackendAnswer, HeaderFields } from "../platform/platform.ts";
import { logFailure, whenClientLeaves } from "./request-log.ts";

/** A render of one empty page, which takes a backend some milliseconds. */
const PROBE_BODY = '{"source":" "}';
const MAX_SIDE_ANSWER_BYTES = 64 * 1024;

export async function forwardRender(context: EdgeContext, body: BodyReservation): Promise<BackendAnswer | Problem> {
  const { settings, backendChoice, pool } = deploymentOf(context);
  const clock = context.clock;
  const deadline = clock.now() + settings.backendTimeoutSeconds * 1000;
  await pool.ready();
  const attempts = new RenderAttempts(backendChoice, deadline, body.bytes?.length ?? 0, Math.random);
  context.record.failures = attempts.failures;
  const answer = await tryBackends<BackendAnswer>({
    choice: backendChoice,
    clock,
    attempts,
    longestAnswerMilliseconds: longestAnswerMilliseconds(settings),
    body,
    whenClientLeaves: (callback) => whenClientLeaves(context, callback),
    send: (backend, sending) => send(context, backend, sending),
    sendProbe: (backend, timeoutMilliseconds) => sendProbe(context, backend, timeoutMilliseconds),
    askLoad,
    discard: (answer) => answer.body?.discard(),
    report: (backend, result) => reportFailedAttempt(context, backend, result),
    inBackground: (work) => context.request.inBackground(work),
  });
  return answer.kind === "refused" ? answer.problem : answer.answer;
}

function send(
  context: EdgeContext,
  backend: Backend,
  { bytes, timeBudgetMilliseconds, signal, reportTaken }: Sending,
): Promise<BackendAnswer> {
  const { record } = context;
  record.backend = backend.name;
  record.tries = (record.tries ?? 0) + 1;
  const { protocol, host } = context.origin;
  const prefix = parseForwardedPrefix(context.request.headers.get(FORWARDED_PREFIX_HEADER));
  return backend.send({
    method: "POST",
    path: "/v1/render",
    headers: {
      ...commonHeaders(context, context.requestId, context.caller ?? "", timeBudgetMilliseconds),
      ...traceHeaders(context.request.headers),
      // The URL of the client's request, for the `instance` of the backend's problems. `requireServedUrl` bounds its length.
      "X-Forwarded-Proto": protocol.slice(0, -1),
      "X-Forwarded-Host": host,
      ...(prefix !== "" && { [FORWARDED_PREFIX_HEADER]: prefix }),
    },
    body: bytes,
    signal,
    reportTaken,
  });
}

async function askLoad(backend: Backend, timeoutMilliseconds: number): Promise<BackendLoad | null> {
  const request = { method: "GET", path: "/ready", headers: {}, body: null } as const;
  const { answer } = await ask(backend, request, { maxBytes: MAX_SIDE_ANSWER_BYTES, timeoutMilliseconds });
  return answer.status === 200 ? parseBackendLoad(answer.headers.get(LOAD_HEADER)) : null;
}

/** No caller controls this render, so whatever but a file comes back is the fault of the backend. */
async function sendProbe(context: EdgeContext, backend: Backend, timeoutMilliseconds: number): Promise<BackendAnswer> {
  const headers = commonHeaders(context, crypto.randomUUID(), PROBE_CALLER, timeoutMilliseconds);
  const request = { method: "POST", path: "/v1/render", headers, body: PROBE_BODY } as const;
  const { answer, text } = await ask(backend, request, { maxBytes: MAX_SIDE_ANSWER_BYTES, timeoutMilliseconds });
  if (text === null) throw new Error("the answer is too long or too slow");
  return answer;
}

function commonHeaders(
  context: EdgeContext,
  requestId: string,
  caller: string,
  timeBudgetMilliseconds: number,
): Record<string, string> {
  const { settings, limitsFingerprint } = deploymentOf(context);
  return {
    "Content-Type": "application/json",
    [BACKEND_TOKEN_HEADER]: settings.backendToken,
    [REQUEST_ID_HEADER]: requestId,
    [CALLER_HEADER]: caller,
    [LIMITS_HEADER]: limitsFingerprint,
    [TIME_BUDGET_HEADER]: String(timeBudgetMilliseconds),
  };
}

/** The caller's trace, unchanged: the platform's own spans belong to another one. */
function traceHeaders(headers: HeaderFields): Record<string, string> {
  const parent = parseTraceparent(headers.get(TRACEPARENT_HEADER));
  if (parent === null) return {};
  const state = shortenTracestate(headers.get(TRACESTATE_HEADER));
  return {
    [TRACEPARENT_HEADER]: formatTraceparent(parent),
    ...(state !== null && { [TRACESTATE_HEADER]: state }),
  };
}

function reportFailedAttempt(context: EdgeContext, backend: Backend, { failure, reason }: FailedAttempt): void {
  const isFull = failure === "full";
  const message = isFull ? "a backend was full" : "a backend did not answer";
  const hasAnswered = isFull || deploymentOf(context).backendChoice.hasAnswered(backend);
  logFailure(context, "warn", {
    message,
    origin: backend.name,
    cause: reason,
    nextStep: NEXT_STEPS[failure],
    ...(!hasAnswered && { hasEverAnswered: false }),
  });
}
