/** What a backend's answer means: for the client, and as evidence of whether the backend works. */
import { type BackendLoad, parseBackendLoad } from "../../protocol/backend-load.ts";
import { LOAD_HEADER, PROBLEM_CAUSE_HEADER, PROBLEM_CODE_HEADER } from "../../protocol/headers.ts";
import { fileExtensionOf } from "../../protocol/rendered-file.ts";
import { type CauseField, causeField, parseCause } from "../../rules/causes.ts";
import type { Limits } from "../../rules/limits.ts";
import { outputTooLarge, PROBLEM_MEDIA_TYPE, PROBLEMS, type Problem, type ProblemCode } from "../../rules/problem.ts";
import type { AttemptResult } from "./backend-choice.ts";
import type { FailedAttempt } from "./render-attempts.ts";

/** Used for a full backend that sends no usable `Retry-After`. */
const DEFAULT_RETRY_AFTER_SECONDS = 1;
/** The most that is passed on. No setting lets a render run for that long, so a slot has become free by then. */
const MAX_RETRY_AFTER_SECONDS = 900;

/** Far more than the longest problem: twenty errors with paths of 128 segments. */
const MAX_PROBLEM_BYTES = 1024 * 1024;

/**
 * What an answer holds by its head: a rendered file, a problem of this service with the status that its code has, or
 * what no backend sends. Only the first two may reach a caller.
 */
export type AnswerContent = "file" | "foreign" | ProblemCode;

/** The beginning of a backend's answer. */
export interface BackendAnswer<Answer> {
  readonly status: number;
  readonly content: AnswerContent;
  /** The value of `Retry-After`. */
  readonly retryAfter: string | null;
  /** What it names as the cause of a problem. */
  readonly cause?: string | null;
  readonly load: BackendLoad | null;
  readonly answer: Answer;
}

/** What is read of a response before its body. */
export type ResponseHead = Pick<Response, "status" | "headers">;

export function answerOf<Answer extends ResponseHead>(response: Answer): BackendAnswer<Answer> {
  const { status, headers } = response;
  return {
    status,
    content: contentOf(response),
    retryAfter: headers.get("Retry-After"),
    cause: headers.get(PROBLEM_CAUSE_HEADER),
    load: parseBackendLoad(headers.get(LOAD_HEADER)),
    answer: response,
  };
}

function contentOf(response: ResponseHead): AnswerContent {
  const { status, headers } = response;
  const mediaType = headers.get("Content-Type");
  if (fileExtensionOf(mediaType) !== null) return status === 200 ? "file" : "foreign";
  if (mediaType !== PROBLEM_MEDIA_TYPE || (lengthOf(response) ?? 0) > MAX_PROBLEM_BYTES) return "foreign";
  // Proxies answer with problems too (RFC 9457), which are not in the contract.
  const code = problemCodeOf(response);
  return code !== null && PROBLEMS[code].status === status ? code : "foreign";
}

/** The code that a backend names for its problem; null if there is no such code. */
export function problemCodeOf({ headers }: ResponseHead): ProblemCode | null {
  const name = headers.get(PROBLEM_CODE_HEADER);
  return name !== null && isProblemCode(name) ? name : null;
}

/** The cause that a backend names for its problem, as a field of the log line. */
export function causeFieldOf(response: ResponseHead): CauseField {
  const code = problemCodeOf(response) ?? "ok";
  return causeField({ code, cause: parseCause(code, response.headers.get(PROBLEM_CAUSE_HEADER)) });
}

function isProblemCode(name: string): name is ProblemCode {
  return Object.hasOwn(PROBLEMS, name);
}

/** The most bytes of an answer. */
export function maxAnswerBytes({ headers }: ResponseHead, limits: Limits): number {
  return fileExtensionOf(headers.get("Content-Type")) === null ? MAX_PROBLEM_BYTES : limits.max_output_bytes;
}

/** How long an answer says it is; null if it does not say, or if the runtime decodes it. */
export function lengthOf({ headers }: ResponseHead): number | null {
  const length = headers.get("Content-Length");
  return length === null || headers.has("Content-Encoding") ? null : Number(length);
}

/** The problem of a file that is over the limit: a backend with a higher one has rendered it. Null if there is none. */
export function problemOfLength(answer: ResponseHead, limits: Limits): Problem | null {
  const length = lengthOf(answer) ?? 0;
  return length > maxAnswerBytes(answer, limits) ? outputTooLarge(length, limits.max_output_bytes) : null;
}

type Meaning = { readonly kind: "answered" } | Exclude<FailedAttempt, { kind: "lost" }>;

/** What an answer means for the client: it gets the answer, or another backend is tried. */
export function meaningOf({ content, retryAfter, cause }: BackendAnswer<unknown>): Meaning {
  switch (content) {
    case "file":
    // What a render can end in.
    case "render_timeout":
    case "output_too_large":
    case "too_many_output_files":
    case "template_compile_failed":
    case "render_failed":
      return { kind: "answered" };
    case "render_queue_full":
      return {
        kind: "busy",
        retryAfterSeconds: retryAfterSeconds(retryAfter),
        cause: parseCause(content, cause ?? null) ?? "backend_full",
      };
    // The edge has found the request valid. So it did not reach the backend as it was sent, or the two have other
    // limits.
    case "invalid_request":
    case "unsupported_format":
    case "invalid_template_path":
    case "invalid_file_data":
    case "request_too_large":
    case "template_source_too_large":
    case "template_file_too_large":
    case "string_too_large":
    case "page_selection_too_large":
      return { kind: "refused" };
    // The token is all that a backend's 403 can be about.
    case "forbidden":
      return { kind: "unavailable", failure: "token_rejected" };
    // From a proxy, or a wrong address.
    case "foreign":
    case "not_found":
    case "method_not_allowed":
      return { kind: "unavailable", failure: "foreign" };
    case "service_unavailable":
      return { kind: "unavailable", failure: "unavailable" };
  }
}

/** What the answer to a caller's render tells about its backend. One that blames the request tells nothing. */
export function resultOf(answer: BackendAnswer<unknown>): AttemptResult {
  const { load } = answer;
  if (load?.isDraining === true) return { kind: "answered", load };
  switch (meaningOf(answer).kind) {
    case "answered":
      return { kind: "answered", load };
    case "busy":
      return { kind: "full", load };
    case "refused":
      return { kind: "abandoned" };
    case "unavailable":
      return { kind: "failed" };
  }
}

/** What the answer to a probe tells. Nothing is wrong with its document, so any problem is the backend's own. */
export function probeResultOf({ content, load }: BackendAnswer<unknown>): AttemptResult {
  if (content === "file" || load?.isDraining === true) return { kind: "answered", load };
  return content === "render_queue_full" ? { kind: "full", load } : { kind: "failed" };
}

/** Why an answer does not go to the client, for the log. */
export function causeOf({ status, content, cause }: BackendAnswer<unknown>): string {
  if (content === "foreign") return `status ${status} from something other than a backend`;
  if (content === "forbidden") return `status ${status}: it does not accept SERVICE_BACKEND_TOKEN`;
  const known = parseCause(content, cause ?? null);
  return known === undefined ? `status ${status}` : `status ${status}: ${known}`;
}

function retryAfterSeconds(text: string | null): number {
  const seconds = /^[0-9]+$/.test(text ?? "") ? Number(text) : 0;
  return seconds > 0 ? Math.min(seconds, MAX_RETRY_AFTER_SECONDS) : DEFAULT_RETRY_AFTER_SECONDS;
}
