/**
 * The limits on the time of a render, and the problem for each. All are `render_timeout` to the client; `detail` says which
 * limit it was, and so do the log and the metrics.
 */
import { type Problem, problem } from "../../rules/problem.ts";
import type { BackendSettings } from "../start/settings.ts";

export const TIMEOUT_CAUSES = ["wall_clock", "processor_time", "writing_files"] as const;

/** Which limit a render exceeded. */
export type TimeoutCause = (typeof TIMEOUT_CAUSES)[number];

/** A problem that knows its cause, for the operator. */
export type RenderTimeout = Extract<Problem, { code: "render_timeout" }> & { readonly timeoutCause: TimeoutCause };

/**
 * How long writing the files of a request may take. Usually it takes milliseconds; thousands of folders on a busy disk take
 * longer, and the limit on processor time covers only Typst.
 */
export const MAX_FILL_SECONDS = 5;

export function renderTimeout(timeoutCause: TimeoutCause, settings: BackendSettings): RenderTimeout {
  const timedOut = problem("render_timeout", describeCause(timeoutCause, settings), {
    timeout_secs: settings.renderTimeoutSeconds,
  });
  return { ...timedOut, timeoutCause };
}

/** The cause of a timeout; undefined for any other problem. */
export function timeoutCauseOf(given: Problem | RenderTimeout): TimeoutCause | undefined {
  return "timeoutCause" in given ? given.timeoutCause : undefined;
}

function describeCause(cause: TimeoutCause, { renderTimeoutSeconds, renderCpuSeconds }: BackendSettings): string {
  switch (cause) {
    case "wall_clock":
      return `The render took longer than ${renderTimeoutSeconds} seconds.`;
    case "processor_time":
      return `The render needed more than ${renderCpuSeconds} seconds of processor time.`;
    case "writing_files":
      return `The files of the request could not be written in ${MAX_FILL_SECONDS} seconds.`;
  }
}
