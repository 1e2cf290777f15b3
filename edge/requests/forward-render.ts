/** Forwards a validated render to the backends by HTTP. `try-backends.ts` decides which of them, when and how often. */
import {
  BACKEND_TOKEN_HEADER,
  type BackendLoad,
  CALLER_HEADER,
  LIMITS_HEADER,
  LOAD_HEADER,
  PROBE_CALLER,
  parseBackendLoad,
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
import { readBoundedText } from "../backends/backend.ts";
import type { FailedAttempt } from "../backends/backend-answer.ts";
import type { Backend } from "../backends/backend-choice.ts";
import { RenderAttempts } from "../backends/render-attempts.ts";
import { type Sending, tryBackends } from "../backends/try-backends.ts";
import { type HeldBody, sendBody } from "../body/held-body.ts";
import { deploymentOf, type EdgeContext, renewBackends } from "../context.ts";
import { logFailure, whenClientLeaves } from "./request-log.ts";

/** A render of one empty page, which takes a backend some milliseconds. */
const PROBE_BODY = '{"source":" "}';
const MAX_PROBE_ANSWER_BYTES = 64 * 1024;

export async function forwardRender(context: EdgeContext, body: HeldBody): Promise<Response | Problem> {
  const { settings, backendChoice } = deploymentOf(context);
  const clock = context.get("clock");
  const deadline = clock.now() + settings.backendTimeoutSeconds * 1000;
  await renewBackends(context);
  const attempts = new RenderAttempts(backendChoice, deadline, body.bytes?.length ?? 0, Math.random);
  context.get("record").failures = attempts.failures;
  const answer = await tryBackends<Response>({
    choice: backendChoice,
    clock,
    attempts,
    longestAnswerMilliseconds: longestAnswerMilliseconds(settings),
    body,
    whenClientLeaves: (callback) => whenClientLeaves(context, callback),
    send: (backend, sending) => send(context, backend, sending),
    sendProbe: (backend, timeoutMilliseconds) => sendProbe(context, backend, timeoutMilliseconds),
    askLoad,
    discard: async (response) => response.body?.cancel(),
    report: (backend, result) => reportFailedAttempt(context, backend, result),
    inBackground: (work) => context.executionCtx.waitUntil(work),
  });
  return answer.kind === "refused" ? answer.problem : answer.answer;
}

async function send(
  context: EdgeContext,
  backend: Backend,
  { bytes, timeBudgetMilliseconds, signal, reportTaken }: Sending,
): Promise<Response> {
  const record = context.get("record");
  record.backend = backend.name;
  record.tries = (record.tries ?? 0) + 1;
  const { readable, writable } = new FixedLengthStream(bytes.length);
  // A failed write needs no handling: the fetch fails as well, or the backend has answered before the end of the body.
  const writer = writable.getWriter();
  for (const failing of [writer.closed, sendBody(writer, bytes, reportTaken)]) failing.catch(() => {});
  const { protocol, host } = context.get("origin");
  return backend.fetch("/v1/render", {
    method: "POST",
    body: readable,
    headers: {
      ...commonHeaders(context, context.get("requestId"), context.get("caller"), timeBudgetMilliseconds),
      ...traceHeaders(context.req.raw.headers),
      // The URL of the client's request, for the `instance` of the backend's problems. `requireServedUrl` bounds its length.
      "X-Forwarded-Proto": protocol.slice(0, -1),
      "X-Forwarded-Host": host,
    },
    redirect: "manual",
    signal,
  });
}

async function askLoad(backend: Backend, timeoutMilliseconds: number): Promise<BackendLoad | null> {
  const response = await backend.fetch("/ready", {
    redirect: "manual",
    signal: AbortSignal.timeout(timeoutMilliseconds),
  });
  await response.body?.cancel();
  return response.ok ? parseBackendLoad(response.headers.get(LOAD_HEADER)) : null;
}

/** No caller controls this render, so whatever but a file comes back is the fault of the backend. */
async function sendProbe(context: EdgeContext, backend: Backend, timeoutMilliseconds: number): Promise<Response> {
  const deadline = Date.now() + timeoutMilliseconds;
  const response = await backend.fetch("/v1/render", {
    method: "POST",
    body: PROBE_BODY,
    headers: commonHeaders(context, crypto.randomUUID(), PROBE_CALLER, timeoutMilliseconds),
    redirect: "manual",
    signal: AbortSignal.timeout(timeoutMilliseconds),
  });
  const isWhole =
    response.body === null || (await readBoundedText(response.body, MAX_PROBE_ANSWER_BYTES, deadline)) !== null;
  if (!isWhole) throw new Error("the answer is too long or too slow");
  return response;
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
function traceHeaders(headers: Headers): Record<string, string> {
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
    requestId: context.get("requestId"),
    message,
    origin: backend.name,
    cause: reason,
    nextStep: NEXT_STEPS[failure],
    ...(!hasAnswered && { hasEverAnswered: false }),
  });
}
