/**
 * Header names of the service's own, and the headers that go with its answers.
 */

/** On every answer, and from the edge to the backend: one id for one request. */
export const REQUEST_ID_HEADER = "X-Request-Id";
/** From the edge to the backend: the limits by which the edge has validated. See `limitsFingerprint`. */
export const LIMITS_HEADER = "X-Service-Limits";

/** From the edge to the backend: the name of the caller's token, by which slots, queue and room are shared out. */
export const CALLER_HEADER = "X-Service-Caller";

/** What the name of a caller looks like: safe in a header, a log line and a metric label. */
export const CALLER_NAME_PATTERN = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/;

/** What a request id looks like (RFC 9562). Anything else is not taken over. */
export const REQUEST_ID_PATTERN = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/** On every answer. */
export const COMMON_HEADERS = { "X-Content-Type-Options": "nosniff" } as const;

/** On answers that are about one request alone. */
export const NOT_STORED_HEADERS = { "Cache-Control": "no-store" } as const;

/** The `instance` of a problem: the URL of the request without its query, the request id as its fragment. */
export function instanceOf(url: string, requestId: string): string {
  // A `Host` header that makes no URL still gets an answer.
  const { origin, pathname } = URL.canParse(url) ? new URL(url) : { origin: "", pathname: "/" };
  return `${origin}${pathname}#${requestId}`;
}
