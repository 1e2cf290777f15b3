/**
 * Forwards a validated render to the origins by HTTP. `try-origins.ts` decides which of them, when and how often.
 */

import { parseBackendLoad } from "../../rules/http/backend-load.ts";
import {
  BACKEND_TOKEN_HEADER,
  CALLER_HEADER,
  LIMITS_HEADER,
  LOAD_HEADER,
  PATIENCE_HEADER,
  PROBLEM_CODE_HEADER,
  REQUEST_ID_HEADER,
} from "../../rules/http/headers.ts";
import { fileExtensionOf } from "../../rules/http/rendered-file.ts";
import {
  formatTraceparent,
  parseTraceparent,
  passableTracestate,
  TRACEPARENT_HEADER,
  TRACESTATE_HEADER,
} from "../../rules/http/trace-context.ts";
import type { Limits } from "../../rules/limits.ts";
import {
  PROBLEM_MEDIA_TYPE,
  PROBLEMS,
  type Problem,
  renderQueueFull,
  serviceUnavailable,
} from "../../rules/problem.ts";
import { SYSTEM_CLOCK } from "../clock.ts";
import { deploymentOf, type EdgeContext } from "../context.ts";
import type { HeldBody } from "../held-body.ts";
import { logFailure } from "../request-log.ts";
import { problemCodeOf } from "../request-record.ts";
import { lengthOf, maxAnswerBytes } from "./answer-length.ts";
import type { Origin } from "./origin.ts";
import { RenderAttempts } from "./render-attempts.ts";
import { type AnswerContent, type OriginAnswer, type Sending, tryOrigins } from "./try-origins.ts";
import { probeDueOrigin } from "./watch-origin.ts";

/** A body is written in chunks of this size, so that the edge notices when the origin has taken the last one. */
const CHUNK_BYTES = 256 * 1024;

export type Forwarding =
  | { readonly kind: "answered"; readonly response: Response }
  | { readonly kind: "refused"; readonly problem: Problem };

/** Sends the body to an origin, unchanged, and to another one if the first cannot answer. */
export async function forwardRender(context: EdgeContext, body: HeldBody): Promise<Forwarding> {
  const { settings, origins, originChoice } = deploymentOf(context);
  const deadline = SYSTEM_CLOCK.now() + settings.backendTimeoutSeconds * 1000;
  const shared = { origins, choice: originChoice, clock: SYSTEM_CLOCK };
  context.executionCtx.waitUntil(
    probeDueOrigin({ ...shared, isReady: (origin, timeout) => answersOk(origin, "/ready", timeout) }),
  );
  const end = await tryOrigins<Origin, Response>({
    ...shared,
    attempts: new RenderAttempts(originChoice, deadline, Math.random),
    deadline,
    body,
    clientSignal: context.req.raw.signal,
    send: (origin, sending) => send(context, origin, sending),
    isAlive: (origin, timeout) => answersOk(origin, "/health", timeout),
    discard: async (response) => response.body?.cancel(),
    report: (origin, cause) => report(context, origin, cause),
  });
  switch (end.kind) {
    case "answered":
      return { kind: "answered", response: end.answer };
    case "busy":
      return {
        kind: "refused",
        problem: renderQueueFull("No render slot became free in time.", end.retryAfterSeconds),
      };
    case "failed":
      return { kind: "refused", problem: serviceUnavailable() };
  }
}

async function send(
  context: EdgeContext,
  origin: Origin,
  { bytes, patienceMilliseconds, signal, sent }: Sending,
): Promise<OriginAnswer<Response>> {
  const { record } = context.var;
  record.origin = origin.name;
  record.tries = (record.tries ?? 0) + 1;
  const { readable, writable } = new FixedLengthStream(bytes.length);
  // A failed write needs no handling: the fetch fails as well, or the origin has answered before the end of the body.
  void sendInChunks(writable, bytes).then(sent, () => {});
  const response = await origin.fetch("/v1/render", {
    method: "POST",
    body: readable,
    headers: requestHeaders(context, patienceMilliseconds),
    redirect: "manual",
    signal,
  });
  return {
    status: response.status,
    content: contentOf(response, deploymentOf(context).settings.limits),
    retryAfter: response.headers.get("Retry-After"),
    load: parseBackendLoad(response.headers.get(LOAD_HEADER)),
    answer: response,
  };
}

function contentOf(response: Response, limits: Limits): AnswerContent {
  const { status, headers } = response;
  const mediaType = headers.get("Content-Type");
  if ((lengthOf(response) ?? 0) > maxAnswerBytes(response, limits)) return "foreign";
  if (fileExtensionOf(mediaType) !== null) return "file";
  if (mediaType !== PROBLEM_MEDIA_TYPE) return "foreign";
  // Proxies answer with problems too (RFC 9457), which are none of the contract's.
  const code = problemCodeOf(headers.get(PROBLEM_CODE_HEADER));
  return code !== null && PROBLEMS[code].status === status ? "problem" : "foreign";
}

async function answersOk(origin: Origin, path: "/health" | "/ready", timeoutMilliseconds: number): Promise<boolean> {
  try {
    const signal = AbortSignal.timeout(timeoutMilliseconds);
    const response = await origin.fetch(path, { signal, redirect: "manual" });
    await response.body?.cancel();
    return response.ok;
  } catch {
    return false;
  }
}

function requestHeaders(context: EdgeContext, patienceMilliseconds: number): Record<string, string> {
  const { settings, limitsFingerprint } = deploymentOf(context);
  const requested = new URL(context.req.url);
  return {
    "Content-Type": "application/json",
    [BACKEND_TOKEN_HEADER]: settings.backendToken,
    [REQUEST_ID_HEADER]: context.var.requestId,
    [CALLER_HEADER]: context.var.caller,
    [LIMITS_HEADER]: limitsFingerprint,
    [PATIENCE_HEADER]: String(patienceMilliseconds),
    ...traceHeaders(context.req.raw.headers),
    // The URL of the client's request, for the `instance` of the backend's problems.
    "X-Forwarded-Proto": requested.protocol.slice(0, -1),
    "X-Forwarded-Host": requested.host,
  };
}

/** The caller's trace. Where the platform records spans, they belong to a trace of its own, so this one is passed on unchanged. */
function traceHeaders(headers: Headers): Record<string, string> {
  const parent = parseTraceparent(headers.get(TRACEPARENT_HEADER));
  if (parent === null) return {};
  const state = passableTracestate(headers.get(TRACESTATE_HEADER));
  return {
    [TRACEPARENT_HEADER]: formatTraceparent(parent),
    ...(state !== null && { [TRACESTATE_HEADER]: state }),
  };
}

function report(context: EdgeContext, origin: Origin, cause: string): void {
  const message = "an origin did not answer";
  logFailure(context, "warn", { requestId: context.var.requestId, message, origin: origin.name, cause });
}

async function sendInChunks(writable: WritableStream<Uint8Array>, body: Uint8Array<ArrayBuffer>): Promise<void> {
  const writer = writable.getWriter();
  // Rejects with the error of the write that fails, which the caller handles.
  writer.closed.catch(() => {});
  for (let at = 0; at < body.length; at += CHUNK_BYTES) await writer.write(body.subarray(at, at + CHUNK_BYTES));
  await writer.close();
}
