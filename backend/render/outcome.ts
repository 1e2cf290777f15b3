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
  tooManyOutputFiles,
} from "../../rules/problem.ts";
import type { StopReason, TypstReport } from "../compiler/process.ts";
import type { BackendSettings } from "../settings.ts";
import type { Spool } from "./spool.ts";

export type RenderOutcome =
  /** `output`: what the request asked for, and the file is. */
  { readonly kind: "rendered"; readonly file: Spool; readonly output: Output } | RenderFailure;

export type RenderFailure = { readonly kind: "refused"; readonly problem: Problem } | { readonly kind: "client-gone" };

export const CLIENT_GONE = { kind: "client-gone" } as const satisfies RenderFailure;

export function refuse(problem: Problem) {
  return { kind: "refused", problem } as const satisfies RenderFailure;
}

/** How a render fails whose time is over. */
interface UsedTime {
  failure(cause?: TimeoutCause): RenderFailure;
}

/** The exit code if Typst ended by itself, within its limits. @throws if nothing was compiled or the output is lost */
export function endOfRender(
  { end, ranOutOfMemory, outputBytes }: TypstReport,
  settings: BackendSettings,
  time: UsedTime,
): RenderFailure | { readonly kind: "exited"; readonly exitCode: number } {
  switch (end.kind) {
    case "exited":
      return end;
    case "not-begun":
    case "output-lost":
      // For a client that has left, the program may have been killed before it had started.
      if (time.failure().kind === "client-gone") return CLIENT_GONE;
      throw end.error;
    case "stopped":
      return failureOfStop(end.reason, outputBytes, settings, time);
    case "signalled":
      return refuse(ranOutOfMemory ? outOfMemory(settings.renderMemoryBytes) : renderFailed());
  }
}

/** @param outputBytes as many as are known of */
export function failureOfStop(
  reason: StopReason,
  outputBytes: number,
  { limits }: Pick<BackendSettings, "limits">,
  time: UsedTime,
): RenderFailure {
  switch (reason) {
    case "over":
      return time.failure();
    case "processor-time":
      return time.failure("processor_time");
    case "too-large":
      return refuse(outputTooLarge(outputBytes, limits.max_output_bytes));
    case "too-many-files":
      return refuse(tooManyOutputFiles(limits.max_output_files));
    case "no-room":
      return failBySpace();
  }
}

const NO_SPACE_RETRY_SECONDS = 5;

/** Other renders hold the temporary space, which becomes free when their outputs are delivered. */
export function failBySpace(): RenderFailure {
  return refuse(renderQueueFull("temporary_space", NO_SPACE_RETRY_SECONDS));
}
