/**
 * `POST /v1/render` at the edge: judge completely, then hand the caller's own bytes to a backend and its answer back.
 */

import type { Limits } from "../rules/limits.ts";
import { PROBLEM_MEDIA_TYPE, type Problem, serviceUnavailable } from "../rules/problem.ts";
import { parseRenderRequest } from "../rules/render-request.ts";
import {
  BodyCollector,
  declaredSize,
  judgeDeclaredSize,
  judgeMediaType,
  type RequestHead,
} from "../rules/request-head.ts";
import { BackendError, forwardRender } from "./backends.ts";
import { BodyMemory, RETRY_AFTER_SECONDS } from "./body-memory.ts";
import { type EdgeContext, settingsOf } from "./context.ts";
import { problemResponse } from "./problem-response.ts";

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

/** One for each isolate. */
const bodyMemory = new BodyMemory();

export async function answerRender(context: EdgeContext): Promise<Response> {
  const { limits } = settingsOf(context);
  const { headers } = context.req.raw;
  const head: RequestHead = {
    contentLength: headers.get("Content-Length"),
    contentType: headers.get("Content-Type"),
    contentEncoding: headers.get("Content-Encoding"),
  };
  const tooLarge = judgeDeclaredSize(head, limits);
  if (tooLarge !== null) return problemResponse(context, tooLarge);
  const room = declaredSize(head) ?? limits.max_request_body_bytes;
  const answer = await bodyMemory.withRoomFor(room, () => judgeAndForward(context, head));
  return answer ?? noRoom(context);
}

async function judgeAndForward(context: EdgeContext, head: RequestHead): Promise<Response> {
  const { limits } = settingsOf(context);
  const body = await readBody(context.req.raw, head, limits);
  if ("code" in body) return problemResponse(context, body);
  const wrongMediaType = judgeMediaType(head);
  if (wrongMediaType !== null) return problemResponse(context, wrongMediaType);
  const judgement = parseRenderRequest(body, limits);
  if (!judgement.ok) return problemResponse(context, judgement.problem);
  return passOn(await forwardRender(context, body));
}

function noRoom(context: EdgeContext): Response {
  const response = problemResponse(context, serviceUnavailable());
  response.headers.set("Retry-After", String(RETRY_AFTER_SECONDS));
  return response;
}

/** The body as received, or the problem of one that is too large; of that no more is read than it takes to know. */
async function readBody(
  request: Request,
  head: RequestHead,
  limits: Limits,
): Promise<Uint8Array<ArrayBuffer> | Problem> {
  const collector = new BodyCollector(head, limits);
  for await (const piece of request.body ?? []) {
    const tooLarge = collector.add(piece);
    if (tooLarge !== null) return tooLarge;
  }
  return collector.finish();
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
