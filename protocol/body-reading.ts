/** How edge and backend read a body, and discard the rest of one that is refused. */
import { LIMIT_SETTINGS } from "../rules/limits.ts";
import { type Problem, problem } from "../rules/problem.ts";

/** A client that sends nothing for this long is considered gone. */
export const BODY_SILENCE_MILLISECONDS = 10_000;

/** `Retry-After` if there is no room for a body. */
export const NO_MEMORY_RETRY_SECONDS = 2;

/**
 * How much of a refused body is discarded before its connection is closed: the largest that any deployment takes. A
 * connection that is closed while the client still writes is reset, and a simple client, which writes its whole body
 * before it reads, never sees the answer.
 */
export const MAX_DISCARDED_BYTES = LIMIT_SETTINGS.max_request_body_bytes.max;
export const MAX_DISCARD_MILLISECONDS = 5000;
/** A client that sends nothing for this long is waiting for the answer. */
export const DISCARD_SILENCE_MILLISECONDS = 500;

export function bodyTooSlow(): Problem {
  return problem("invalid_request", "The body did not arrive in time.", {});
}
