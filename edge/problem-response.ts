/** Problems as responses of the edge. */
import { NOT_STORED_HEADERS } from "../protocol/headers.ts";
import { causeField } from "../rules/causes.ts";
import { PROBLEM_MEDIA_TYPE, PROBLEMS, type Problem, problemDocument, problemInstance } from "../rules/problem.ts";
import type { EdgeContext } from "./context.ts";

export const PROBLEM_HEADERS = { ...NOT_STORED_HEADERS, "Content-Type": PROBLEM_MEDIA_TYPE } as const;

export function problemResponse(context: EdgeContext, problem: Problem): Response {
  context.var.record.code = problem.code;
  context.var.record.cause = causeField(problem);
  const document = problemDocument(problem, problemInstance(context.req.url, context.var.requestId));
  const response = new Response(JSON.stringify(document), {
    status: PROBLEMS[problem.code].status,
    headers: PROBLEM_HEADERS,
  });
  if (problem.code === "render_queue_full") response.headers.set("Retry-After", String(problem.context.retry_after));
  return response;
}
