/** How a problem becomes an answer in HTTP, at the edge and at a backend. */
import {
  PROBLEM_MEDIA_TYPE,
  PROBLEMS,
  type Problem,
  problemDocument,
  problemInstance,
  retryAfterSeconds,
} from "../rules/problem.ts";
import { NOT_STORED_HEADERS, parseForwardedPrefix } from "./headers.ts";

export const PROBLEM_HEADERS = { ...NOT_STORED_HEADERS, "Content-Type": PROBLEM_MEDIA_TYPE } as const;

export interface ProblemAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** @param url that of the request, or null if it could not be read @param forwardedPrefix the header field of the proxy in front */
export function answerProblem(
  problem: Problem,
  url: string | null,
  requestId: string,
  forwardedPrefix: string | null,
): ProblemAnswer {
  const instance =
    url === null ? `#${requestId}` : problemInstance(url, requestId, parseForwardedPrefix(forwardedPrefix));
  const seconds = retryAfterSeconds(problem);
  return {
    status: PROBLEMS[problem.code].status,
    headers: { ...PROBLEM_HEADERS, ...(seconds !== null && { "Retry-After": String(seconds) }) },
    body: JSON.stringify(problemDocument(problem, instance)),
  };
}
