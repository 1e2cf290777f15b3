/**
 * Forwards a validated render to the origins, one after another, until one of them answers.
 */

import { parseBackendLoad } from "../../rules/http/backend-load.ts";
import {
  BACKEND_TOKEN_HEADER,
  CALLER_HEADER,
  LIMITS_HEADER,
  LOAD_HEADER,
  PATIENCE_HEADER,
  REQUEST_ID_HEADER,
} from "../../rules/http/headers.ts";
import {
  formatTraceparent,
  parseTraceparent,
  passableTracestate,
  TRACEPARENT_HEADER,
  TRACESTATE_HEADER,
} from "../../rules/http/trace-context.ts";
import { limitsFingerprint } from "../../rules/limits.ts";
import {
  PROBLEM_MEDIA_TYPE,
  PROBLEMS,
  type Problem,
  renderQueueFull,
  serviceUnavailable,
} from "../../rules/problem.ts";
import { deploymentOf, type EdgeContext } from "../context.ts";
import type { HeldBody } from "../held-body.ts";
import { logFailure } from "../request-log.ts";
import type { Origin } from "./origin.ts";
import { type FailedAttempt, RenderAttempts } from "./render-attempts.ts";
import { isReady, PROBE_TIMEOUT_MILLISECONDS, watchOrigin } from "./watch-origin.ts";

/** A body is written in chunks of this size, so that the edge notices when the origin has taken the last one. */
const CHUNK_BYTES = 256 * 1024;
/** How long an attempt is remembered after its deadline, to allow for delays in workerd. */
const SLACK_MILLISECONDS = 1000;
/** What is said of a full origin that does not say when to come back. */
const DEFAULT_RETRY_AFTER_SECONDS = 1;

/** The statuses of problems with which a render can end for the client. Any other means that the origin is not set up. */
const FINAL_PROBLEM_STATUSES: ReadonlySet<number> = new Set([400, 408, 413, 422, 500]);

export type Forwarding =
  | { readonly kind: "answered"; readonly response: Response }
  | { readonly kind: "refused"; readonly problem: Problem };

/**
 * Sends the body to an origin, byte for byte, and to another one if the first cannot answer. When the client disconnects, the
 * attempt is aborted, which ends the render.
 */
export async function forwardRender(context: EdgeContext, body: HeldBody): Promise<Forwarding> {
  const { settings, origins, originChoice } = deploymentOf(context);
  const deadline = Date.now() + settings.backendTimeoutSeconds * 1000;
  const attempts = new RenderAttempts(originChoice, deadline, Math.random);
  context.executionCtx.waitUntil(probeDueOrigin(context));
  // Bounded by the number of attempts that `RenderAttempts` allows.
  for (;;) {
    let step = attempts.next(Date.now());
    const origin = step.kind === "try" ? origins[step.origin] : undefined;
    if (step.kind === "try" && origin !== undefined) {
      body.keep();
      const bytes = body.bytes;
      if (bytes !== null) {
        attempts.begin(step.origin);
        const { record } = context.var;
        record.origin = origin.name;
        record.tries = (record.tries ?? 0) + 1;
        const end = await tryOrigin(context, { origin, index: step.origin, deadline, body, bytes });
        if (end.kind === "answered") return end;
        attempts.fail(step.origin, end);
        continue;
      }
      // The memory went to another request.
      step = attempts.giveUp();
    }
    switch (step.kind) {
      case "wait":
        await scheduler.wait(step.milliseconds);
        continue;
      case "busy":
        return {
          kind: "refused",
          problem: renderQueueFull("No render slot became free in time.", step.retryAfterSeconds),
        };
      default:
        return { kind: "refused", problem: serviceUnavailable() };
    }
  }
}

/** Asks an origin that has failed whether it can take renders again, if it is time to ask. No render waits for the answer. */
async function probeDueOrigin(context: EdgeContext): Promise<void> {
  const { origins, originChoice } = deploymentOf(context);
  const index = originChoice.takeDue(Date.now(), PROBE_TIMEOUT_MILLISECONDS + SLACK_MILLISECONDS);
  const origin = index === null ? undefined : origins[index];
  if (index === null || origin === undefined) return;
  originChoice.probed(index, Date.now(), await isReady(origin));
}

interface AttemptInput {
  readonly origin: Origin;
  readonly index: number;
  readonly deadline: number;
  readonly body: HeldBody;
  readonly bytes: Uint8Array<ArrayBuffer>;
}

type AttemptEnd = Extract<Forwarding, { kind: "answered" }> | FailedAttempt;

async function tryOrigin(
  context: EdgeContext,
  { origin, index, deadline, body, bytes }: AttemptInput,
): Promise<AttemptEnd> {
  const { originChoice } = deploymentOf(context);
  const attempt = originChoice.begin(index, deadline + SLACK_MILLISECONDS);
  const abort = new AbortController();
  const clientSignal = context.req.raw.signal;
  // When the client disconnects, workerd never resumes the code after the next `await`.
  const leave = () => {
    originChoice.end(attempt, Date.now(), { kind: "abandoned" });
    abort.abort();
  };
  clientSignal.addEventListener("abort", leave);
  const stopWatching = watchOrigin(origin, deadline, () => abort.abort());
  let isSent = false;
  const { readable, writable } = new FixedLengthStream(bytes.length);
  // A failed write needs no handling: the fetch fails as well, or the origin has answered before the end of the body.
  void sendInChunks(writable, bytes).then(
    () => {
      isSent = true;
      body.offer();
    },
    () => {},
  );
  try {
    const response = await origin.fetch("/v1/render", {
      method: "POST",
      body: readable,
      headers: requestHeaders(context, deadline - Date.now()),
      redirect: "manual",
      signal: abort.signal,
    });
    const load = parseBackendLoad(response.headers.get(LOAD_HEADER));
    const end = classify(response);
    const isWell = end.kind === "answered" || end.kind === "busy" || load?.isDraining === true;
    originChoice.end(attempt, Date.now(), isWell ? { kind: "answered", load } : { kind: "failed" });
    if (end.kind === "answered") return end;
    report(context, origin, `status ${response.status}`);
    await response.body?.cancel();
    return end;
  } catch (error) {
    originChoice.end(attempt, Date.now(), { kind: "failed" });
    report(context, origin, String(error));
    return { kind: isSent ? "lost" : "unavailable" };
  } finally {
    stopWatching();
    clientSignal.removeEventListener("abort", leave);
  }
}

function requestHeaders(context: EdgeContext, patienceMilliseconds: number): Record<string, string> {
  const { settings } = deploymentOf(context);
  const requested = new URL(context.req.url);
  return {
    "Content-Type": "application/json",
    [BACKEND_TOKEN_HEADER]: settings.backendToken,
    [REQUEST_ID_HEADER]: context.var.requestId,
    [CALLER_HEADER]: context.var.caller,
    [LIMITS_HEADER]: limitsFingerprint(settings.limits),
    [PATIENCE_HEADER]: String(Math.max(0, patienceMilliseconds)),
    ...traceHeaders(context.req.raw.headers),
    // The URL of the client's request, for the `instance` of the backend's problems.
    "X-Forwarded-Proto": requested.protocol.slice(0, -1),
    "X-Forwarded-Host": requested.host,
  };
}

/** The trace that the caller's request belongs to. The edge records no span of its own, so it passes it on unchanged. */
function traceHeaders(headers: Headers): Record<string, string> {
  const parent = parseTraceparent(headers.get(TRACEPARENT_HEADER));
  if (parent === null) return {};
  const state = passableTracestate(headers.get(TRACESTATE_HEADER));
  return {
    [TRACEPARENT_HEADER]: formatTraceparent(parent),
    ...(state !== null && { [TRACESTATE_HEADER]: state }),
  };
}

/** What a response means for the client. One that no render can end with comes from a proxy, or from a wrong address. */
function classify(response: Response): AttemptEnd {
  const isProblem = response.headers.get("Content-Type") === PROBLEM_MEDIA_TYPE;
  if (!isProblem) return response.status === 200 ? { kind: "answered", response } : { kind: "unavailable" };
  if (FINAL_PROBLEM_STATUSES.has(response.status)) return { kind: "answered", response };
  if (response.status !== PROBLEMS.render_queue_full.status) return { kind: "unavailable" };
  const seconds = Number(response.headers.get("Retry-After"));
  const retryAfterSeconds = Number.isInteger(seconds) && seconds > 0 ? seconds : DEFAULT_RETRY_AFTER_SECONDS;
  return { kind: "busy", retryAfterSeconds };
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
