/** Problems (RFC 9457) as a client gets them: a union by `code`, each with its own `context`, `origin` and `status`. */
import { type ContextMember, PROBLEM_ORIGINS, type PROBLEMS, type ProblemContexts } from "../../rules/problem.ts";
import type { ProblemCode, ProblemDocument } from "../../rules/published-rules.ts";

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
    /** Prose, which may be reworded, as `detail` may: branch on `code`, `origin` or `context`. */
    readonly title: string;
    readonly detail: string;
    readonly context: ProblemContexts[Code];
    /** The URL of the request with its request id; null for a problem that was found before sending. */
    readonly instance: string | null;
    /** By which the operator finds the request in the logs; null for a problem that was found before sending. */
    readonly requestId: string | null;
  };
}[ProblemCode];

export function asServiceProblem(body: unknown): ServiceProblem | null {
  if (typeof body !== "object" || body === null || !("instance" in body) || typeof body.instance !== "string")
    return null;
  // Not from `X-Request-Id`: a browser hides that header of another origin, and the fragment is the same id.
  const requestId = body.instance.split("#")[1] || null;
  const problem: object = { ...body, requestId };
  return isServiceProblem(problem) ? problem : null;
}

export function asLocalProblem(document: ProblemDocument): ServiceProblem {
  const problem: object = { ...document, instance: null, requestId: null };
  if (!isServiceProblem(problem)) throw new Error("the rules made a problem without its members");
  return problem;
}

type MemberTest = (value: unknown) => boolean;

const PROBLEM_MEMBER_TESTS: Readonly<Record<"code" | "origin" | "status" | "title" | "detail", MemberTest>> = {
  code: isText,
  origin: (value) => typeof value === "string" && Object.hasOwn(PROBLEM_ORIGINS, value),
  status: Number.isFinite,
  title: isText,
  detail: isText,
};

function isServiceProblem(value: object): value is ServiceProblem {
  const members = new Map<string, unknown>(Object.entries(value));
  return (
    Object.entries(PROBLEM_MEMBER_TESTS).every(([name, isValid]) => isValid(members.get(name))) &&
    isContextOf(members.get("code"), members.get("context"))
  );
}

/** The type of each member of a `context`, which is the same in all problems. */
const CONTEXT_MEMBER_TESTS: Readonly<Record<ContextMember, MemberTest>> = {
  errors: (value) => Array.isArray(value) && value.every(isValidationError),
  errors_total: Number.isFinite,
  rule: isText,
  key: isText,
  count: Number.isFinite,
  limit: Number.isFinite,
  size: Number.isFinite,
  path: isPath,
  subject: (value) => value === "key" || value === "value",
  declared_size: Number.isFinite,
  timeout_secs: Number.isFinite,
  retry_after: Number.isFinite,
};

const REQUIRED_MEMBERS: { readonly [Code in ProblemCode]?: readonly (keyof ProblemContexts[Code] & ContextMember)[] } =
  {
    unsupported_format: ["errors"],
    invalid_template_path: ["errors"],
    render_timeout: ["timeout_secs"],
    request_too_large: ["limit"],
    template_source_too_large: ["size", "limit"],
    template_file_too_large: ["key", "size", "limit"],
    string_too_large: ["path", "subject", "size", "limit"],
    output_too_large: ["size", "limit"],
    page_selection_too_large: ["count", "limit"],
    too_many_output_files: ["limit"],
    render_queue_full: ["retry_after"],
  };

/** Members and codes that are added later are not checked. */
function isContextOf(code: unknown, context: unknown): boolean {
  if (typeof context !== "object" || context === null || Array.isArray(context)) return false;
  const members = new Map<string, unknown>(Object.entries(context));
  const required = Object.entries(REQUIRED_MEMBERS).find(([known]) => known === code)?.[1] ?? [];
  return (
    required.every((name) => members.has(name)) &&
    Object.entries(CONTEXT_MEMBER_TESTS).every(([name, isValid]) => !members.has(name) || isValid(members.get(name)))
  );
}

function isValidationError(value: unknown): boolean {
  if (typeof value !== "object" || value === null || !("loc" in value && "msg" in value && "type" in value))
    return false;
  return isPath(value.loc) && isText(value.msg) && isText(value.type);
}

function isPath(value: unknown): boolean {
  return Array.isArray(value) && value.every((segment) => isText(segment) || Number.isFinite(segment));
}

function isText(value: unknown): boolean {
  return typeof value === "string";
}
