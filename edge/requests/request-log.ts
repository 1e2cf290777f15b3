/** Writes the edge's log lines: one for each request at its end, and one for each failure. */
import { deploymentOf, type EdgeContext } from "../context.ts";
import type { Answer } from "../platform/platform.ts";

/** Writes the log line of a request once, and tells what observes requests. @param answer null if the client left before it */
export function endRequest(context: EdgeContext, answer: Answer | null): void {
  const { platform, record } = context;
  // Read by itself: a deployment whose settings are not valid logs its answers as well.
  const isLogged = platform.settings.SERVICE_LOG_REQUESTS !== "none";
  const observe = platform.requestObserver();
  if (!record.end()) return;
  countForMetrics(context);
  if (!isLogged && observe === null) return;
  record.caller = context.caller ?? undefined;
  const line = record.toLine(context.request, context.path, context.requestId, answer);
  observe?.(line);
  if (isLogged) platform.writeLog("log", line);
}

/** Counts why the request is refused, and how attempts failed. */
function countForMetrics(context: EdgeContext): void {
  const { problem, failures } = context.record;
  // A backend counts its time-outs itself.
  const refusal = problem?.code === "render_timeout" ? undefined : problem?.cause;
  const names = refusal === undefined ? failures : [refusal, ...failures];
  const deployment = names.length === 0 ? null : knownDeployment(context);
  for (const name of names) deployment?.counts.add(name);
}

/** Calls back when the client leaves, which is then logged. All that wait for it share one listener. @returns a function that cancels the call. */
export function whenClientLeaves(context: EdgeContext, callback: () => void): () => void {
  const { record, request } = context;
  if (record.onLeave === null) {
    const callbacks = new Set<() => void>();
    record.onLeave = callbacks;
    request.whenClientLeaves(() => {
      endRequest(context, null);
      for (const call of callbacks) call();
    });
  }
  record.onLeave.add(callback);
  return () => record.onLeave?.delete(callback);
}

export function logFailure(context: EdgeContext, level: "error" | "warn", line: object): void {
  context.platform.writeLog(level, { requestId: context.requestId, ...line });
}

/** Null while a setting is not valid. */
function knownDeployment(context: EdgeContext) {
  try {
    return deploymentOf(context);
  } catch {
    return null;
  }
}
