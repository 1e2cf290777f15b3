/**
 * Problems (RFC 9457): every error that a client can get. A code is never reused, and its status never changes within
 * an API version. A problem must not contain Typst diagnostics, bodies or tokens.
 */
import {
  ATTEMPT_FAILURES,
  type AttemptFailure,
  CAUSES,
  type CapacityCause,
  type Cause,
  type CausedCode,
  type TimeoutCause,
  type UnavailableCause,
} from "./causes.ts";

/** Who has to act. Only `service` means that the service failed. */
export const PROBLEM_ORIGINS = {
  request: "The request, or the document it asks for, must be corrected.",
  template: "The template that the request carries (source or files) must be corrected.",
  capacity: "Load shedding by design; nothing is broken. Wait for `Retry-After`, then try again.",
  service: "The service itself failed. Try again with care and tell its operator.",
} as const;

export type ProblemOrigin = keyof typeof PROBLEM_ORIGINS;

/** The ids of the rules in `files-rules.ts` and `output-rules.ts`. They never change: clients branch on them. */
export type SetRuleId = "too_many_keys" | "case_collision" | "ancestor_collision";

export type OutputRuleId =
  | "page_selection_too_long"
  | "page_selection_too_many_segments"
  | "page_selection_malformed"
  | "page_range_end_precedes_start"
  | "duplicate_standards"
  | "multiple_pdf_a_standards"
  | "ua_1_with_pdf_a_4"
  | "version_conflicts_with_standard"
  | "ua_1_with_pdf_2_0"
  | "pages_with_tagged_standard"
  | "pages_requires_archive"
  | "page_with_archive";

/** One entry of `context.errors`. Branch on `type`; `msg` is prose. */
export interface ValidationError {
  readonly loc: readonly (string | number)[];
  readonly msg: string;
  readonly type: string;
}

/** `errors_total` is present only when `errors` does not list all errors. */
export interface ValidationErrors {
  readonly errors: readonly ValidationError[];
  readonly errors_total?: number;
}

type Nothing = Readonly<Record<string, never>>;

/** The context of each code. The `meaning` in the catalogue says when an optional member is present. */
export interface ProblemContexts {
  invalid_request: Partial<ValidationErrors> & { readonly rule?: OutputRuleId };
  unsupported_format: ValidationErrors;
  invalid_template_path: ValidationErrors;
  invalid_file_data:
    | (ValidationErrors & { readonly key?: string })
    | { readonly key: string; readonly rule?: SetRuleId }
    | { readonly count: number; readonly limit: number; readonly rule?: SetRuleId };
  forbidden: Nothing;
  not_found: Nothing;
  method_not_allowed: Nothing;
  render_timeout: { readonly timeout_secs: number };
  request_too_large: { readonly limit: number; readonly declared_size?: number };
  template_source_too_large: { readonly size: number; readonly limit: number };
  template_file_too_large: { readonly key: string; readonly size: number; readonly limit: number };
  string_too_large: {
    readonly path: readonly (string | number)[];
    readonly subject: "key" | "value";
    readonly size: number;
    readonly limit: number;
  };
  output_too_large: { readonly size: number; readonly limit: number };
  page_selection_too_large: { readonly count: number; readonly limit: number };
  too_many_output_files: { readonly limit: number };
  template_compile_failed: Nothing;
  render_queue_full: { readonly retry_after: number };
  render_failed: Nothing;
  service_unavailable: Nothing;
}

export type ProblemCode = keyof ProblemContexts;

type MemberOf<Context> = Context extends Nothing ? never : keyof Context;
export type ContextMember = { [Code in ProblemCode]: MemberOf<ProblemContexts[Code]> }[ProblemCode];

interface ProblemDefinition {
  readonly status: number;
  readonly origin: ProblemOrigin;
  readonly title: string;
  readonly context: readonly ContextMember[];
  /** Published as `cause`. */
  readonly meaning: string;
}

export const PROBLEMS = {
  invalid_request: {
    status: 400,
    origin: "request",
    title: "Invalid request",
    context: ["errors", "errors_total", "rule"],
    meaning:
      "A field is missing, malformed, unknown or belongs to another output format, the output breaks an output rule (`rule`), or the body is not JSON or did not arrive in time (then without `errors`).",
  },
  unsupported_format: {
    status: 400,
    origin: "request",
    title: "Unsupported output format",
    context: ["errors", "errors_total"],
    meaning: "`output.format` is not `pdf`, `png` or `svg`.",
  },
  invalid_template_path: {
    status: 400,
    origin: "request",
    title: "Invalid files key",
    context: ["errors", "errors_total"],
    meaning: "A key of `files` breaks the key rules. The key is named, shortened, in `detail` only.",
  },
  invalid_file_data: {
    status: 400,
    origin: "request",
    title: "Invalid file data",
    context: ["key", "count", "limit", "rule", "errors", "errors_total"],
    meaning:
      "Malformed Base64, text or source that is not Unicode, too many entries in `files` (`count` and `limit`), or keys that collide (`key` and `rule`).",
  },
  forbidden: {
    status: 403,
    origin: "request",
    title: "Forbidden",
    context: [],
    meaning: "The token is missing or wrong, or the deployment does not serve this host name.",
  },
  not_found: {
    status: 404,
    origin: "request",
    title: "Not found",
    context: [],
    meaning: "Nothing is served at this path.",
  },
  method_not_allowed: {
    status: 405,
    origin: "request",
    title: "Method not allowed",
    context: [],
    meaning: "The path exists, but not for this method. The `Allow` header names the permitted methods.",
  },
  render_timeout: {
    status: 408,
    origin: "request",
    title: "Render timeout",
    context: ["timeout_secs"],
    meaning:
      "The render exceeded the render timeout, its processor time or the time to write its files. `detail` says which.",
  },
  request_too_large: {
    status: 413,
    origin: "request",
    title: "Request too large",
    context: ["limit", "declared_size"],
    meaning:
      "The JSON body is over the request-body limit. `declared_size` repeats `Content-Length` where one was sent.",
  },
  template_source_too_large: {
    status: 413,
    origin: "template",
    title: "Template source too large",
    context: ["size", "limit"],
    meaning: "`source` is over its limit.",
  },
  template_file_too_large: {
    status: 413,
    origin: "template",
    title: "Template file too large",
    context: ["key", "size", "limit"],
    meaning: "One file is over its limit after decoding.",
  },
  string_too_large: {
    status: 413,
    origin: "request",
    title: "String too large",
    context: ["path", "subject", "size", "limit"],
    meaning: "One string in `data`, a key or a value, is over its limit.",
  },
  output_too_large: {
    status: 413,
    origin: "request",
    title: "Output too large",
    context: ["size", "limit"],
    meaning: "The output, all archived images together or the ZIP is over the output limit.",
  },
  page_selection_too_large: {
    status: 413,
    origin: "request",
    title: "Page selection too large",
    context: ["count", "limit"],
    meaning: "`pages` selects more pages than an archive may hold. Nothing was rendered.",
  },
  too_many_output_files: {
    status: 413,
    origin: "request",
    title: "Too many output files",
    context: ["limit"],
    meaning: "The document has more pages than an archive may hold.",
  },
  template_compile_failed: {
    status: 422,
    origin: "template",
    title: "Template compile failed",
    context: [],
    meaning:
      "Typst could not produce the requested output from this template: an error in it, a page selection that matches nothing, several pages for a single image, memory exhausted, or a PDF that would break its standard.",
  },
  render_queue_full: {
    status: 429,
    origin: "capacity",
    title: "Render queue full",
    context: ["retry_after"],
    meaning:
      "Exhausted, in all or for the caller: the rate limit, uploads in progress, open requests, memory for bodies, render slots, places in the queue, time for the render or temporary space. `detail` says which, `Retry-After` when to try again.",
  },
  render_failed: {
    status: 500,
    origin: "service",
    title: "Render failed",
    context: [],
    meaning:
      "Typst was killed by a signal that its own memory limit does not explain, or made no output without saying why.",
  },
  service_unavailable: {
    status: 503,
    origin: "service",
    title: "Service unavailable",
    context: [],
    meaning: "An unexpected failure of the service or its infrastructure.",
  },
} as const satisfies Record<ProblemCode, ProblemDefinition>;

export type Problem = {
  [Code in ProblemCode]: {
    readonly code: Code;
    readonly detail: string;
    readonly context: ProblemContexts[Code];
    readonly cause?: Code extends CausedCode ? Cause<Code> : never;
  };
}[ProblemCode];

/** How a request ended, as it is logged and counted: `client_gone` if the client did not wait for its answer. */
export type RequestOutcome = "ok" | "client_gone" | ProblemCode;

export type OutcomeClass = "ok" | "client_gone" | ProblemOrigin;

export function outcomeClass(outcome: RequestOutcome): OutcomeClass {
  return outcome === "ok" || outcome === "client_gone" ? outcome : PROBLEMS[outcome].origin;
}

export const PROBLEM_MEDIA_TYPE = "application/problem+json";

/** A problem with the given code. `detail` may contain text of the caller only as `quote()` returns it. */
export function problem<Code extends ProblemCode>(
  code: Code,
  detail: string,
  context: ProblemContexts[Code],
): Extract<Problem, { code: Code }>;
export function problem(code: ProblemCode, detail: string, context: ProblemContexts[ProblemCode]) {
  return { code, detail, context };
}

function formatSeconds(seconds: number): string {
  return seconds === 1 ? "1 second" : `${seconds} seconds`;
}

/** Programs that add a path to an address with a final slash send `//v1/render`. */
export function notFound(path = ""): Problem {
  const end = path.startsWith("//") ? " that begins with two slashes. Does the base address end in one?" : ".";
  return problem("not_found", `Nothing is served at this path${end}`, {});
}

export function methodNotAllowed(allowed: string): Problem {
  return problem("method_not_allowed", `Only ${allowed} can be used here.`, {});
}

export function renderTimeout(cause: TimeoutCause, limitSeconds: number, timeoutSeconds: number): Problem {
  const detail = CAUSES.render_timeout[cause](formatSeconds(limitSeconds));
  return { ...problem("render_timeout", detail, { timeout_secs: timeoutSeconds }), cause };
}

export function outOfMemory(limitBytes: number): Problem {
  const [unit, name] = limitBytes < 1024 ** 3 ? [1024 ** 2, "MiB"] : [1024 ** 3, "GiB"];
  const limit = `${Math.round((10 * limitBytes) / unit) / 10} ${name}`;
  const detail = `The render needed more memory than its ${limit}: /help/templates#documents-that-grow says what takes it.`;
  return problem("template_compile_failed", detail, {});
}

export function renderQueueFull(cause: CapacityCause, retryAfterSeconds: number): Problem {
  const detail = `${CAUSES.render_queue_full[cause]} Try again in ${formatSeconds(retryAfterSeconds)}.`;
  return { ...problem("render_queue_full", detail, { retry_after: retryAfterSeconds }), cause };
}

/** Whoever gets a 408 without `Retry-After` may send the render again at once, as OkHttp does by itself. */
export const TIMEOUT_RETRY_SECONDS = 1;

/** The seconds that the field `Retry-After` of a problem says; null if the answer has no such field. */
export function retryAfterSeconds(problem: Problem): number | null {
  if (problem.code === "render_queue_full") return problem.context.retry_after;
  return problem.code === "render_timeout" ? TIMEOUT_RETRY_SECONDS : null;
}

/** @param declaredSize what `Content-Length` says, or null */
export function requestTooLarge(declaredSize: number | null, limit: number): Problem {
  return problem("request_too_large", `The request body is over the limit of ${limit} bytes.`, {
    limit,
    ...(declaredSize !== null && { declared_size: declaredSize }),
  });
}

export function outputTooLarge(countedBytes: number, limit: number): Problem {
  // Bytes are counted as Typst writes them. Escaping an SVG adds to them, so the count may be within the limit.
  const size = Math.max(countedBytes, limit + 1);
  const detail = `The output has ${size} bytes or more; at most ${limit} are allowed.`;
  return problem("output_too_large", detail, { size, limit });
}

export function tooManyOutputFiles(limit: number): Problem {
  const detail = `The document has more pages than the ${limit} that an archive may hold.`;
  return problem("too_many_output_files", detail, { limit });
}

export function renderFailed(): Problem {
  return problem("render_failed", "The render ended without an output, and not because of the template.", {});
}

/** The client gets these words and no more: the log has the error itself. @param failures how each attempt failed */
export function serviceUnavailable(cause: UnavailableCause, failures: readonly AttemptFailure[] = []): Problem {
  const attempts = countRepeats(failures)
    .map(({ failure, times }) => `${ATTEMPT_FAILURES[failure]}${times > 1 ? ` (${times} times)` : ""}`)
    .join(", then one ");
  const detail = `The service cannot take this request now. ${CAUSES.service_unavailable[cause]}`;
  const problemOfCause = problem("service_unavailable", attempts === "" ? detail : `${detail} One ${attempts}.`, {});
  return { ...problemOfCause, cause };
}

/** Failures with how often each came in a row: there may be one for each of a hundred backends. */
function countRepeats(failures: readonly AttemptFailure[]): readonly { failure: AttemptFailure; times: number }[] {
  const rows: { failure: AttemptFailure; times: number }[] = [];
  for (const failure of failures) {
    const last = rows.at(-1);
    if (last?.failure === failure) last.times++;
    else rows.push({ failure, times: 1 });
  }
  return rows;
}

export interface ProblemDocument {
  readonly code: ProblemCode;
  readonly detail: string;
  readonly origin: ProblemOrigin;
  readonly title: string;
  readonly status: number;
  readonly instance: string;
  readonly context: object;
}

/** The `instance` of a problem: the URL of the request without its query, and the request id as its fragment. */
/** @param prefix the path below which the service is served, which the URL lacks */
export function problemInstance(url: string, requestId: string, prefix = ""): string {
  // A `Host` header may make the URL invalid, and the request still gets an answer.
  const { origin, pathname } = URL.canParse(url) ? new URL(url) : { origin: "", pathname: "/" };
  return `${origin}${prefix}${pathname}#${requestId}`;
}

/** Members in the order of their use: some programs show only the first 120 characters of an answer. */
export function problemDocument({ code, detail, context }: Problem, instance: string): ProblemDocument {
  const { origin, title, status } = PROBLEMS[code];
  return { code, detail, origin, title, status, instance, context };
}
