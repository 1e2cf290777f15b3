/** Answers with a problem: its response, and the rest of the body, which is discarded before it is sent. */
import {
  DISCARD_SILENCE_MILLISECONDS,
  MAX_DISCARD_MILLISECONDS,
  MAX_DISCARDED_BYTES,
} from "../protocol/body-collector.ts";
import { NOT_STORED_HEADERS } from "../protocol/headers.ts";
import { PROBLEM_MEDIA_TYPE, PROBLEMS, type Problem, problemDocument, problemInstance } from "../rules/problem.ts";
import { FairLimit } from "./body/fair-limit.ts";
import { BodyReader } from "./body/read-body.ts";
import { type EdgeContext, respond } from "./context.ts";
import { whenClientLeaves } from "./requests/request-log.ts";

export const PROBLEM_HEADERS = { ...NOT_STORED_HEADERS, "Content-Type": PROBLEM_MEDIA_TYPE } as const;

export function problemResponse(context: EdgeContext, problem: Problem): Response {
  context.get("record").problem = problem;
  const document = problemDocument(problem, problemInstance(context.req.url, context.get("requestId")));
  const response = respond(context, JSON.stringify(document), {
    status: PROBLEMS[problem.code].status,
    headers: PROBLEM_HEADERS,
  });
  if (problem.code === "render_queue_full") response.headers.set("Retry-After", String(problem.context.retry_after));
  return response;
}

/** How many bodies an isolate discards at the same time. Other requests get their answer at once. */
const MAX_DISCARDS = 64;
/** Requests without a valid token share as one caller. No caller has this name. */
const NOBODY = "";

/** Does not depend on settings: bodies are discarded even while these are not valid. */
const discards = new FairLimit(MAX_DISCARDS, 2 * MAX_DISCARD_MILLISECONDS);

export async function discardBody(context: EdgeContext): Promise<void> {
  const { body, bodyUsed, headers } = context.req.raw;
  // A stream stays locked when `readBody` considers its client gone.
  if (body === null || body.locked) return;
  // A client that sent `Expect: 100-continue` (RFC 9110 section 10.1.1) sends its body once some of it is read.
  if (headers.has("Expect") && !bodyUsed) return;
  const permit = discards.acquire(context.get("caller") ?? NOBODY);
  if (permit === null) return;
  whenClientLeaves(context, permit.release);
  const reader = new BodyReader(body);
  const deadline = Date.now() + MAX_DISCARD_MILLISECONDS;
  for (let discardedBytes = 0; discardedBytes < MAX_DISCARDED_BYTES; ) {
    const chunk = await reader.next(Math.min(DISCARD_SILENCE_MILLISECONDS, deadline - Date.now()));
    if (typeof chunk === "string") break;
    discardedBytes += chunk.length;
  }
  permit.release();
}
