/**
 * What the platform's span of a request says of it, where Workers traces are on (docs/monitoring.md). The platform
 * makes the spans and exports them, and does not pass its trace on to other services, so `render.trace_id` is how to
 * find the backend's spans.
 */
import { tracing } from "cloudflare:workers";
import type { RequestLine } from "./request-record.ts";

/** The span of the request; null if it is not traced. workerd alone traces nothing. */
export function tracedSpan(): Span | null {
  const span = tracing.getActiveSpan();
  return span?.isTraced ? span : null;
}

/** Named like the attributes of the backend's spans. */
export function describeSpan(span: Span, line: RequestLine): void {
  span.setAttributes({
    "http.route": line.route,
    "render.request_id": line.requestId,
    "render.trace_id": line.traceId,
    "render.caller": line.caller,
    "render.outcome": line.code,
    "render.timeout_cause": line.timeoutCause,
    "render.capacity_cause": line.capacityCause,
    "render.unavailable_cause": line.unavailableCause,
    "render.origin": line.origin,
    "render.tries": line.tries,
  });
}
