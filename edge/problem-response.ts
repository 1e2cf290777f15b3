/**
 * Problems as responses of the edge.
 */

import { instanceOf, NOT_STORED_HEADERS } from "../rules/http/headers.ts";
import { PROBLEM_MEDIA_TYPE, PROBLEMS, type Problem, problemDocument } from "../rules/problem.ts";
import type { EdgeContext } from "./context.ts";

/** The response that reports `refusal` of the request at hand. */
export function problemResponse(context: EdgeContext, refusal: Problem): Response {
  const document = problemDocument(refusal, instanceOf(context.req.url, context.var.requestId));
  return new Response(JSON.stringify(document), {
    status: PROBLEMS[refusal.code].status,
    headers: { ...NOT_STORED_HEADERS, "Content-Type": PROBLEM_MEDIA_TYPE },
  });
}
