/**
 * The limits on the time of a render. All are `render_timeout` to the client; the cause says which limit it was.
 */
import type { TimeoutCause } from "../../rules/causes.ts";
import { type Problem, renderTimeout } from "../../rules/problem.ts";
import type { BackendSettings } from "../start/settings.ts";

/**
 * How long writing the files of a request may take. Usually it takes milliseconds; thousands of folders on a busy disk take
 * longer, and the limit on processor time covers only Typst.
 */
export const MAX_FILL_SECONDS = 5;

/** The problem of a render that has exceeded a limit. */
export function timedOut(cause: TimeoutCause, { renderTimeoutSeconds, renderCpuSeconds }: BackendSettings): Problem {
  const limits = {
    wall_clock: renderTimeoutSeconds,
    processor_time: renderCpuSeconds,
    writing_files: MAX_FILL_SECONDS,
  };
  return renderTimeout(cause, limits[cause], renderTimeoutSeconds);
}
