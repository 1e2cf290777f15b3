/** What a backend's answer gives: for the client, and as evidence of whether the backend works. */

import { fileExtensionOf } from "../../protocol/file-types.ts";
import {
  type BackendLoad,
  LOAD_HEADER,
  PROBLEM_CAUSE_HEADER,
  PROBLEM_CODE_HEADER,
  parseBackendLoad,
} from "../../protocol/headers.ts";
import { type AttemptFailure, type CapacityCause, type Cause, parseCause } from "../../rules/causes.ts";
import type { Limits } from "../../rules/limits.ts";
import { outputTooLarge, PROBLEM_MEDIA_TYPE, PROBLEMS, type Problem, type ProblemCode } from "../../rules/problem.ts";
import { MAX_RETRY_AFTER_SECONDS } from "../../rules/render-time.ts";
import type { BackendAnswer } from "../platform/platform.ts";

const DEFAULT_RETRY_AFTER_SECONDS = 1;
/** Far more than the longest problem: twenty errors with paths of 128 segments. */
const MAX_PROBLEM_BYTES = 1024 * 1024;

export type ResponseHead = Pick<BackendAnswer, "status" | "headers">;

export type AttemptResult =
  /** The answer of the backend goes to the client. */
  { readonly kind: "answered"; readonly load: BackendLoad | null } | FailedAttempt;

/** The client does not get an answer of this attempt: another backend is tried. */
export type FailedAttempt = {
  readonly kind: "failed";
  readonly load: BackendLoad | null;
  readonly reason: string;
} & (
  | { readonly failure: "full"; readonly retryAfterSeconds: number; readonly cause: CapacityCause }
  | {
      readonly failure: OtherFailure;
      /** Whether the backend may have begun the render before the attempt failed. */
      readonly mayHaveBegun: boolean;
    }
);

type OtherFailure = Exclude<AttemptFailure, "full">;

export function failedAttempt(failure: OtherFailure, error: unknown): FailedAttempt {
  return { kind: "failed", failure, load: null, reason: String(error), mayHaveBegun: failure === "lost" };
}

export function readAnswer(head: ResponseHead): AttemptResult {
  const load = parseBackendLoad(head.headers.get(LOAD_HEADER));
  const content = contentOf(head);
  const fail = (failure: OtherFailure): FailedAttempt => ({
    kind: "failed",
    failure,
    load,
    reason: reasonOf(head, content),
    mayHaveBegun: content === "no answer" && MAY_HAVE_BEGUN.has(head.status),
  });
  switch (content) {
    case "file":
    case "render_timeout":
    case "output_too_large":
    case "too_many_output_files":
    case "template_compile_failed":
    case "render_failed":
      return { kind: "answered", load };
    case "render_queue_full": {
      const retryAfterSeconds = readRetryAfter(head.headers.get("Retry-After"));
      const cause = parseCause(content, head.headers.get(PROBLEM_CAUSE_HEADER)) ?? "slots_busy";
      return { kind: "failed", failure: "full", retryAfterSeconds, cause, load, reason: reasonOf(head, content) };
    }
    // The edge has found the request valid, so it was changed on the way, or the backend has other limits.
    case "invalid_request":
    case "unsupported_format":
    case "invalid_template_path":
    case "invalid_file_data":
    case "request_too_large":
    case "template_source_too_large":
    case "template_file_too_large":
    case "string_too_large":
    case "page_selection_too_large":
      return fail("refused_request");
    // A backend answers 403 for no other reason.
    case "forbidden":
      return fail("token_rejected");
    case "no answer":
      return fail("unreachable");
    // From a proxy, or a wrong address.
    case "foreign":
    case "not_found":
    case "method_not_allowed":
      return fail("foreign");
    case "service_unavailable":
      return fail("unavailable");
  }
}

/** What an answer to a probe gives. Nothing is wrong with its document, so any problem is the backend's own. */
export function readProbeAnswer(head: ResponseHead): AttemptResult {
  const result = readAnswer(head);
  const content = contentOf(head);
  if (content === "file" || content === "render_queue_full" || content === "no answer") return result;
  const reason = reasonOf(head, content);
  return { kind: "failed", failure: "unavailable", load: result.load, reason, mayHaveBegun: false };
}

/** What an answer is by its head. Only a file, or a problem with the status of its code, may reach a caller. */
type Content = "file" | "foreign" | "no answer" | ProblemCode;

/**
 * What Cloudflare answers itself, in front of an origin that refuses connections, is silent or unknown
 * (developers.cloudflare.com/support/troubleshooting/http-status-codes/cloudflare-5xx-errors).
 */
const FIRST_STATUS_OF_CLOUDFLARE = 520;
const LAST_STATUS_OF_CLOUDFLARE = 530;
/** Statuses of Cloudflare that may come although the origin had the request: an empty or broken answer, and none for 100 s. */
const MAY_HAVE_BEGUN: ReadonlySet<number> = new Set([520, 524]);

function contentOf(head: ResponseHead): Content {
  const { status, headers } = head;
  if (status >= FIRST_STATUS_OF_CLOUDFLARE && status <= LAST_STATUS_OF_CLOUDFLARE) return "no answer";
  const mediaType = headers.get("Content-Type");
  if (fileExtensionOf(mediaType) !== null) return status === 200 ? "file" : "foreign";
  if (mediaType !== PROBLEM_MEDIA_TYPE || (lengthOf(head) ?? 0) > MAX_PROBLEM_BYTES) return "foreign";
  // Proxies answer with problems too (RFC 9457), which are not in the contract.
  const code = problemOf(head)?.code;
  return code !== undefined && PROBLEMS[code].status === status ? code : "foreign";
}

function reasonOf(head: ResponseHead, content: Content): string {
  const { status } = head;
  if (content === "no answer") return `status ${status} of Cloudflare, which had no answer of the backend`;
  if (content === "foreign") return `status ${status} from something other than a backend`;
  if (content === "forbidden") return `status ${status}: it does not accept SERVICE_BACKEND_TOKEN`;
  const cause = problemOf(head)?.cause;
  return cause === undefined ? `status ${status}` : `status ${status}: ${cause}`;
}

function readRetryAfter(text: string | null): number {
  const seconds = /^[0-9]+$/.test(text ?? "") ? Number(text) : 0;
  return seconds > 0 ? Math.min(seconds, MAX_RETRY_AFTER_SECONDS) : DEFAULT_RETRY_AFTER_SECONDS;
}

/** The problem that the header fields of an answer name, by a known code and cause; null if there is none. */
export function problemOf({ headers }: ResponseHead): { code: ProblemCode; cause: Cause | undefined } | null {
  const code = headers.get(PROBLEM_CODE_HEADER) ?? "";
  return isProblemCode(code) ? { code, cause: parseCause(code, headers.get(PROBLEM_CAUSE_HEADER)) } : null;
}

function isProblemCode(name: string): name is ProblemCode {
  return Object.hasOwn(PROBLEMS, name);
}

/** What the head of an answer says of its body. */
export interface AnswerBody {
  /** Otherwise it is a problem. */
  readonly isFile: boolean;
  readonly length: number | null;
  readonly maxBytes: number;
}

/** Called once per answer, because each header field that is read takes microseconds. */
export function describeBody(head: ResponseHead, limits: Limits): AnswerBody {
  const isFile = fileExtensionOf(head.headers.get("Content-Type")) !== null;
  return { isFile, length: lengthOf(head), maxBytes: isFile ? limits.max_output_bytes : MAX_PROBLEM_BYTES };
}

/** How long an answer says it is; null if it does not say, or if the runtime decodes it. */
export function lengthOf({ headers }: ResponseHead): number | null {
  const length = headers.get("Content-Length");
  return length === null || headers.has("Content-Encoding") ? null : Number(length);
}

/** The problem of a file that is over the limit: a backend with a higher one has rendered it. Null if there is none. */
export function problemOfLength({ length, maxBytes }: AnswerBody, limits: Limits): Problem | null {
  return length !== null && length > maxBytes ? outputTooLarge(length, limits.max_output_bytes) : null;
}
