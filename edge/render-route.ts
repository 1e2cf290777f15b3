/**
 * `POST /v1/render` at the edge: validate completely, then hand the caller's own bytes to a backend and its answer back.
 */

import { type RequestHead, validateDeclaredSize, validateMediaType } from "../rules/http/request-head.ts";
import { PROBLEM_MEDIA_TYPE, type Problem } from "../rules/problem.ts";
import { parseRenderRequest } from "../rules/render-request.ts";
import { BackendError, forwardRender } from "./backends.ts";
import type { Reservation } from "./body-memory.ts";
import { deploymentOf, type EdgeContext, settingsOf } from "./context.ts";
import { problemResponse } from "./problem-response.ts";
import { readBody } from "./read-body.ts";

/** The problems that a render may end in. Any other answer of a backend is a fault of the deployment. */
const RENDER_PROBLEM_STATUSES: ReadonlySet<number> = new Set([400, 408, 413, 422, 429, 500, 503]);

/** What of a backend's answer is the client's. Everything else (dates, connection options) is not. */
const PASSED_HEADERS = [
  "Content-Type",
  "Content-Length",
  "Content-Disposition",
  "Cache-Control",
  "Content-Security-Policy",
  "Retry-After",
] as const;

/** Beyond every deadline of a request: for what workerd needs between them. */
const SLACK_MILLISECONDS = 10_000;

export async function answerRender(context: EdgeContext): Promise<Response> {
  const { settings, bodyMemory } = deploymentOf(context);
  const { headers, signal } = context.req.raw;
  const head: RequestHead = {
    contentLength: headers.get("Content-Length"),
    contentType: headers.get("Content-Type"),
    contentEncoding: headers.get("Content-Encoding"),
  };
  const tooLarge = validateDeclaredSize(head, settings.limits);
  if (tooLarge !== null) return refuse(context, tooLarge);
  const longestSeconds = settings.bodyTimeoutSeconds + settings.backendTimeoutSeconds;
  const reservation = bodyMemory.reserve(context.var.caller, longestSeconds * 1000 + SLACK_MILLISECONDS);
  // When the client goes, workerd drops what is after the next `await`: no `finally` runs.
  signal.addEventListener("abort", () => reservation.release());
  try {
    return await validateAndForward(context, head, reservation);
  } finally {
    reservation.release();
  }
}

async function validateAndForward(
  context: EdgeContext,
  head: RequestHead,
  reservation: Reservation,
): Promise<Response> {
  const { limits, bodyTimeoutSeconds } = settingsOf(context);
  const bounds = { limits, timeoutSeconds: bodyTimeoutSeconds, reservation };
  const reading = await readBody(context.req.raw, head, bounds);
  if (reading.kind === "refused") return refuse(context, reading.problem);
  const { collector } = reading;
  const wrongMediaType = validateMediaType(head);
  if (wrongMediaType !== null) return refuse(context, wrongMediaType);
  const body = collector.finish();
  const validation = parseRenderRequest(body, limits);
  if (!validation.ok) return refuse(context, validation.problem);
  const answer = await forwardRender(context, body, () => {
    collector.free();
    reservation.release();
  });
  return passOn(answer);
}

function refuse(context: EdgeContext, problem: Problem): Response {
  const response = problemResponse(context, problem);
  if (problem.code === "render_queue_full") response.headers.set("Retry-After", String(problem.context.retry_after));
  return response;
}

function passOn(answer: Response): Response {
  const isProblem = answer.headers.get("Content-Type") === PROBLEM_MEDIA_TYPE;
  const isRight = isProblem ? RENDER_PROBLEM_STATUSES.has(answer.status) : answer.status === 200;
  if (!isRight) throw new BackendError(`unexpected answer of a backend: status ${answer.status}`);
  const headers = new Headers();
  for (const name of PASSED_HEADERS) {
    const value = answer.headers.get(name);
    if (value !== null) headers.set(name, value);
  }
  return new Response(answer.body, { status: answer.status, headers });
}
