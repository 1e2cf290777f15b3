/**
 * The outcome of a render, as far as only a backend can decide it: Typst was stopped or killed, or its output is lost. What
 * its own end means, `typst/compile-verdict.ts` decides.
 */
import type { TimeoutCause } from "../../rules/causes.ts";
import type { Output } from "../../rules/output-options.ts";
import {
  outOfMemory,
  outputTooLarge,
  type Problem,
  renderFailed,
  renderQueueFull,
  renderTimeout,
  tooManyOutputFiles,
} from "../../rules/problem.ts";
import { ServiceFailure } from "../error-log.ts";
import type { BackendSettings } from "../settings.ts";
import type { StopReason, TypstReport } from "../typst/process.ts";
import type { Spool } from "./spool.ts";

export type RenderOutcome =
  /** `output`: what the request asked for, and the file is. */
  { readonly kind: "rendered"; readonly file: Spool; readonly output: Output } | RenderFailure;

export type RenderFailure = { readonly kind: "refused"; readonly problem: Problem } | { readonly kind: "client-gone" };

export const CLIENT_GONE = { kind: "client-gone" } as const satisfies RenderFailure;

export function refuse(problem: Problem) {
  return { kind: "refused", problem } as const satisfies RenderFailure;
}

/** The exit code if Typst ended by itself, within its limits. @throws if nothing was compiled or the output is lost */
export function endOfRender(
  report: TypstReport,
  settings: BackendSettings,
  grantedSeconds: number,
): RenderFailure | { readonly kind: "exited"; readonly exitCode: number } {
  const { end, ranOutOfMemory } = report;
  switch (end.kind) {
    case "exited":
      return end;
    case "not-begun":
    case "output-lost":
      throw end.error;
    case "stopped":
      return failureOfStop(end.reason, report, settings, grantedSeconds);
    case "signalled":
      if (ranOutOfMemory) {
        return refuse(outOfMemory(settings.renderMemoryBytes));
      }
      return refuse(renderFailed());
  }
}

function failureOfStop(
  reason: StopReason,
  report: TypstReport,
  settings: BackendSettings,
  grantedSeconds: number,
): RenderFailure {
  switch (reason) {
    case "client-gone":
      return CLIENT_GONE;
    case "render-timeout":
      return failByTimeout("wall_clock", settings, grantedSeconds);
    case "processor-time":
      return failByTimeout("processor_time", settings, grantedSeconds);
    case "output-too-large":
      return failBySize(report, settings);
    case "too-many-files":
      return refuse(tooManyOutputFiles(settings.limits.max_output_files));
    case "no-room":
      return failBySpace();
    case "not-needed":
      throw new ServiceFailure("a process was discarded while its request waited for it");
  }
}

function failBySize({ outputBytes }: TypstReport, { limits }: BackendSettings): RenderFailure {
  return refuse(outputTooLarge(outputBytes, limits.max_output_bytes));
}

const NO_SPACE_RETRY_SECONDS = 5;

/** Other renders hold the temporary space, which becomes free when their outputs are delivered. */
export function failBySpace(): RenderFailure {
  return refuse(renderQueueFull("temporary_space", NO_SPACE_RETRY_SECONDS));
}

/** For writing the files of a request: usually milliseconds, but not for thousands of folders on a busy disk. */
export const MAX_FILL_SECONDS = 15;

/** `Retry-After` of a render that had less than the render timeout: the next attempt may have all of it. */
const SHORT_TIME_RETRY_SECONDS = 1;

/** @param grantedSeconds the render timeout, or what the edge left of it: then the document is not to blame */
export function failByTimeout(
  cause: TimeoutCause,
  { renderTimeoutSeconds, renderCpuSeconds }: BackendSettings,
  grantedSeconds: number,
): RenderFailure {
  if (cause === "wall_clock" && grantedSeconds < renderTimeoutSeconds) {
    return refuse(renderQueueFull("time_budget", SHORT_TIME_RETRY_SECONDS));
  }
  const limits = {
    wall_clock: renderTimeoutSeconds,
    processor_time: renderCpuSeconds,
    writing_files: MAX_FILL_SECONDS,
  };
  return refuse(renderTimeout(cause, limits[cause], renderTimeoutSeconds));
}
