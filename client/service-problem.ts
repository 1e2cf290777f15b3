/**
 * Problems (RFC 9457) as a client gets them: a union by `code`, each with its own `context`, `origin` and `status`.
 */
import { ORIGINS, type PROBLEMS, type ProblemContexts } from "../rules/problem.ts";
import type { ProblemCode, ProblemDocument } from "../rules/published-rules.ts";

/**
 * A problem that the service answered, or that it would answer. `switch` over `code` to get the type of its `context`.
 *
 * A newer service may answer a code that this version does not know: keep a `default`, which decides by `origin`.
 */
export type ServiceProblem = {
  [Code in ProblemCode]: {
    readonly code: Code;
    /** Who has to act: docs/api.md#origins. */
    readonly origin: (typeof PROBLEMS)[Code]["origin"];
    readonly status: (typeof PROBLEMS)[Code]["status"];
    /** Prose, which may be reworded: branch on `code`, `origin` or `context`. */
    readonly title: string;
    /** Prose, which may be reworded: branch on `code`, `origin` or `context`. */
    readonly detail: string;
    readonly context: ProblemContexts[Code];
    /** The URL of the request with its request id; null for a problem that was found before sending. */
    readonly instance: string | null;
    /** By which the operator finds the request in the logs; null for a problem that was found before sending. */
    readonly requestId: string | null;
  };
}[ProblemCode];

/** A received body as a problem, or null if it is not one. */
export function asServiceProblem(body: unknown): ServiceProblem | null {
  if (!isProblemDocument(body)) return null;
  // Not from `X-Request-Id`: a browser hides that header of another origin, and the fragment is the same id.
  const requestId = body.instance.split("#")[1] || null;
  const problem: object = { ...body, requestId };
  return isServiceProblem(problem) ? problem : null;
}

/** A problem that was found before anything was sent. */
export function asLocalProblem(document: ProblemDocument): ServiceProblem {
  const problem: object = { ...document, instance: null, requestId: null };
  if (!isServiceProblem(problem)) throw new Error("the rules made a problem without its members");
  return problem;
}

/**
 * Checks the members that every problem has. What `context` holds follows from `code` (docs/api.md#codes), and is taken from
 * the service without a check, so that members which are added later do no harm.
 */
function isProblemDocument(value: unknown): value is ProblemDocument {
  if (typeof value !== "object" || value === null) return false;
  return "instance" in value && typeof value.instance === "string" && isServiceProblem(value);
}

function isServiceProblem(value: object): value is ServiceProblem {
  return (
    "code" in value &&
    typeof value.code === "string" &&
    "origin" in value &&
    typeof value.origin === "string" &&
    Object.hasOwn(ORIGINS, value.origin) &&
    "status" in value &&
    typeof value.status === "number" &&
    "title" in value &&
    typeof value.title === "string" &&
    "detail" in value &&
    typeof value.detail === "string" &&
    "context" in value &&
    typeof value.context === "object" &&
    value.context !== null
  );
}
