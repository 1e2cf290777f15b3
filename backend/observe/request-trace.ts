/**
 * The trace that a request belongs to by its `traceparent`.
 */
import type { IncomingHttpHeaders } from "node:http";
import { parseTraceparent, TRACEPARENT_HEADER, type TraceParent } from "../../protocol/trace-context.ts";

/** Null if the request names no trace, or not in a valid form. */
export function traceParentOf(headers: IncomingHttpHeaders): TraceParent | null {
  const text = headers[TRACEPARENT_HEADER];
  return parseTraceparent(typeof text === "string" ? text : null);
}
