/** Answers with a problem, and discards the rest of the body before that is sent. */
import {
  DISCARD_SILENCE_MILLISECONDS,
  MAX_DISCARD_MILLISECONDS,
  MAX_DISCARDED_BYTES,
} from "../protocol/body-collector.ts";
import { FORWARDED_PREFIX_HEADER, NOT_STORED_HEADERS, parseForwardedPrefix } from "../protocol/headers.ts";
import {
  PROBLEM_MEDIA_TYPE,
  PROBLEMS,
  type Problem,
  problemDocument,
  problemInstance,
  retryAfterSeconds,
} from "../rules/problem.ts";
import { FairLimit } from "./body/fair-limit.ts";
import { WALL_CLOCK } from "./clock.ts";
import type { EdgeContext } from "./context.ts";
import type { Answer } from "./platform/platform.ts";
import { whenClientLeaves } from "./requests/request-log.ts";

export const PROBLEM_HEADERS = { ...NOT_STORED_HEADERS, "Content-Type": PROBLEM_MEDIA_TYPE } as const;

export function problemAnswer(context: EdgeContext, problem: Problem): Answer {
  context.record.problem = problem;
  const prefix = parseForwardedPrefix(context.request.headers.get(FORWARDED_PREFIX_HEADER));
  const document = problemDocument(problem, problemInstance(context.request.url, context.requestId, prefix));
  const seconds = retryAfterSeconds(problem);
  return {
    status: PROBLEMS[problem.code].status,
    headers: { ...PROBLEM_HEADERS, ...(seconds !== null && { "Retry-After": String(seconds) }) },
    body: JSON.stringify(document),
  };
}

/** How many bodies are discarded at the same time. Other requests get their answer at once. */
const MAX_DISCARDS = 64;
/** Requests without a valid token share as one caller. No caller has this name. */
const NOBODY = "";

/** Does not depend on settings: bodies are discarded even while these are not valid. */
const discards = new FairLimit(MAX_DISCARDS, 2 * MAX_DISCARD_MILLISECONDS);

export async function discardBody(context: EdgeContext): Promise<void> {
  const { body, headers } = context.request;
  if (body === null || body.isOver) return;
  // A client that sent `Expect: 100-continue` (RFC 9110 section 10.1.1) sends its body once some of it is read.
  if (headers.has("Expect") && !body.isBegun) return;
  const permit = discards.acquire(context.caller ?? NOBODY);
  if (permit === null) return;
  whenClientLeaves(context, permit.release);
  const deadline = WALL_CLOCK.now() + MAX_DISCARD_MILLISECONDS;
  for (let discardedBytes = 0; discardedBytes < MAX_DISCARDED_BYTES; ) {
    const budget = Math.min(DISCARD_SILENCE_MILLISECONDS, deadline - WALL_CLOCK.now());
    const piece = await body.next(budget, WALL_CLOCK);
    if (typeof piece === "string") break;
    discardedBytes += piece.length;
  }
  permit.release();
}
