/** Writes the edge's log lines: one for each request at its end, and one for each failure. */
import { tracing } from "cloudflare:workers";
import { deploymentOf, type EdgeContext, settingsOf } from "../context.ts";
import { ANALYTICS_BINDING, spanAttributes, writeAnalytics, writeLine } from "../log/request-record.ts";
import { parseLogRequests, type RequestLogging } from "../settings.ts";

/** Writes log line, data point and span of a request once. @param response null if the client left before it */
export function endRequest(context: EdgeContext, response: Response | null): void {
  const record = context.get("record");
  const dataset = context.env[ANALYTICS_BINDING];
  const logging = loggingOf(context);
  // workerd alone traces nothing.
  const span = tracing.getActiveSpan();
  if (!record.end()) return;
  countForMetrics(context);
  if (logging === "none" && dataset === undefined && !span?.isTraced) return;
  record.caller = context.get("caller");
  const line = record.toLine(context.req.raw, context.req.path, context.get("requestId"), response);
  writeAnalytics(dataset, line);
  if (span?.isTraced) span.setAttributes(spanAttributes(line));
  if (logging !== "none") writeLine(logging, "log", line);
}

/** Counts why the request is refused, and how attempts failed. Without valid settings there is no backend to tell. */
function countForMetrics(context: EdgeContext): void {
  const { problem, failures } = context.get("record");
  // A backend counts its time-outs itself.
  const refusal = problem?.code === "render_timeout" ? undefined : problem?.cause;
  const names = refusal === undefined ? failures : [refusal, ...failures];
  if (refusal === "edge_failure") return;
  for (const name of names) deploymentOf(context).counts.add(name);
}

/** Aborted when the client leaves. The request is then logged: the code after its next `await` never runs. */
export function watchClient(context: EdgeContext): AbortSignal {
  const { signal } = context.req.raw;
  signal.addEventListener("abort", () => endRequest(context, null));
  return signal;
}

/** Calls back when the client leaves. All that wait for it share one listener. @returns a function that cancels the call. */
export function whenClientLeaves(context: EdgeContext, callback: () => void): () => void {
  const record = context.get("record");
  if (record.onLeave === null) {
    const callbacks = new Set<() => void>();
    record.onLeave = callbacks;
    watchClient(context).addEventListener("abort", () => {
      for (const call of callbacks) call();
    });
  }
  record.onLeave.add(callback);
  return () => record.onLeave?.delete(callback);
}

export function logFailure(context: EdgeContext, level: "error" | "warn", line: object): void {
  writeLine(loggingOf(context), level, line);
}

/** A deployment whose settings are not valid logs its answers as well, so this setting is then read alone. */
function loggingOf(context: EdgeContext): RequestLogging {
  try {
    return settingsOf(context).logRequests;
  } catch {
    return parseLogRequests(context.env.SERVICE_LOG_REQUESTS) ?? "object";
  }
}
