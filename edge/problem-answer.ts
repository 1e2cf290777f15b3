/** Answers with a problem, and discards the rest of the body before that is sent. */
import { discard, MAX_DISCARD_MILLISECONDS } from "../protocol/body-collector.ts";
import { FORWARDED_PREFIX_HEADER } from "../protocol/headers.ts";
import { answerProblem } from "../protocol/problem-answer.ts";
import type { Problem } from "../rules/problem.ts";
import { FairLimit } from "./body/fair-limit.ts";
import { MONOTONIC_CLOCK } from "./clock.ts";
import type { EdgeContext } from "./context.ts";
import type { Answer } from "./platform/platform.ts";
import { whenClientLeaves } from "./requests/request-log.ts";

export function problemAnswer(context: EdgeContext, problem: Problem): Answer {
  context.record.problem = problem;
  const { url, headers } = context.request;
  return answerProblem(problem, url, context.requestId, headers.get(FORWARDED_PREFIX_HEADER));
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
  await discard(body, MONOTONIC_CLOCK);
  permit.release();
}
