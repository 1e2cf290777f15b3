/** The outcome of a render: the one place that decides which problem the end of a Typst process is. */
import type { FileExtension } from "../../protocol/rendered-file.ts";
import type { TimeoutCause } from "../../rules/causes.ts";
import type { Output } from "../../rules/output-options.ts";
import { outputTooLarge, type Problem, problem, renderQueueFull, renderTimeout } from "../../rules/problem.ts";
import { ServiceFailure } from "../error-log.ts";
import type { BackendSettings } from "../settings.ts";
import type { TypstResult } from "../typst/process.ts";
import type { Spool } from "./spool.ts";

/** The client went away: there is no one to answer, and nothing has failed. */
export const CLIENT_GONE = "client-gone";

/** Why a render has no output. */
export type RenderFailure = Problem | typeof CLIENT_GONE;

/** A finished output. Its receiver closes it. */
export interface RenderedFile {
  readonly output: Spool;
  readonly extension: FileExtension;
}

export type RenderOutcome =
  | { readonly kind: "rendered"; readonly file: RenderedFile }
  | { readonly kind: "refused"; readonly problem: Problem }
  | { readonly kind: typeof CLIENT_GONE };

/** The outcome of a render that has no output. */
export function notRendered(failure: RenderFailure): Exclude<RenderOutcome, { kind: "rendered" }> {
  return failure === CLIENT_GONE ? { kind: CLIENT_GONE } : { kind: "refused", problem: failure };
}

/**
 * Why a process has no usable output; null if it succeeded, and its output decides the outcome.
 *
 * @param grantedSeconds see `timedOut`
 * @throws if the machine failed: Typst never ran, or its output could not be kept.
 */
export function outcomeOfEnd(
  result: TypstResult,
  settings: BackendSettings,
  grantedSeconds: number,
): RenderFailure | null {
  const { end } = result;
  // Checked first: a process over the limit may exit before it is stopped.
  if (result.outputTaken === "too-large" || result.outputBytes > settings.limits.max_output_bytes) {
    return outputTooLarge(result.outputBytes, settings.limits.max_output_bytes);
  }
  if (result.outputTaken === "no-room") return noTemporarySpace();
  switch (end.kind) {
    case "not-started":
    case "output-lost":
      throw end.cause;
    case "stopped":
      switch (end.reason) {
        case "client-gone":
          return CLIENT_GONE;
        case "render-timeout":
          return timedOut("wall_clock", settings, grantedSeconds);
        case "output-too-large":
          return outputTooLarge(result.outputBytes, settings.limits.max_output_bytes);
        case "too-many-files":
          return tooManyOutputFiles(settings);
        case "no-room":
          return noTemporarySpace();
        case "not-needed":
          throw new ServiceFailure("a process was discarded while its request waited for it");
      }
      break;
    case "signalled":
      return outcomeOfSignal(end.signal, result, settings, grantedSeconds);
    case "exited":
      return end.exitCode === 0 ? null : compileFailed({ kind: "refused-by-typst" });
  }
}

/** SIGXCPU and SIGXFSZ come from our own limits. Any other signal is a failure of the service. */
function outcomeOfSignal(
  signal: string,
  result: TypstResult,
  settings: BackendSettings,
  grantedSeconds: number,
): Problem {
  if (result.ranOutOfMemory) return compileFailed({ kind: "out-of-memory", limitBytes: settings.renderMemoryBytes });
  switch (signal) {
    case "SIGXCPU":
      return timedOut("processor_time", settings, grantedSeconds);
    case "SIGXFSZ":
      return outputTooLarge(result.outputBytes, settings.limits.max_output_bytes);
    default:
      return renderFailed();
  }
}

/** Why a template has no output, as far as the service can tell without Typst's diagnostics. */
export type CompileFailure =
  /** Only the diagnostics would say why, and they are never passed on. */
  | { readonly kind: "refused-by-typst" }
  | { readonly kind: "out-of-memory"; readonly limitBytes: number }
  | { readonly kind: "several-pages" }
  | { readonly kind: "page-missing"; readonly page: number }
  | { readonly kind: "selection-empty" };

export function compileFailed(failure: CompileFailure): Problem {
  return problem("template_compile_failed", describeFailure(failure), {});
}

function describeFailure(failure: CompileFailure): string {
  switch (failure.kind) {
    case "refused-by-typst":
      return "Typst could not produce the requested output from this template.";
    case "out-of-memory":
      return `The render needed more memory than its ${failure.limitBytes} bytes.`;
    case "several-pages":
      return 'The document has several pages. Select one with "page", or all of them with "archive": "zip".';
    case "page-missing":
      return `The document has no page ${failure.page}.`;
    case "selection-empty":
      return 'The document has none of the pages that "pages" selects.';
  }
}

/** Typst exited with 0 and wrote no page. Only if the request chose pages is that the template's failure. */
export function noPageWritten(wanted: Output): Problem {
  if (wanted.format === "pdf") return renderFailed();
  if (wanted.page !== null) return compileFailed({ kind: "page-missing", page: wanted.page });
  return wanted.pages === null ? renderFailed() : compileFailed({ kind: "selection-empty" });
}

export function renderFailed(): Problem {
  return problem("render_failed", "The render ended without an output, and not because of the template.", {});
}

export function tooManyOutputFiles({ limits }: BackendSettings): Problem {
  const limit = limits.max_output_files;
  return problem("too_many_output_files", `The document has more pages than the ${limit} that an archive may hold.`, {
    limit,
  });
}

/** `Retry-After` if there is no temporary space: it becomes free when other outputs are delivered. */
const NO_SPACE_RETRY_SECONDS = 5;

/** Other renders hold the temporary space: the request is rejected as when no slot is free. */
export function noTemporarySpace(): Problem {
  return renderQueueFull("temporary_space", NO_SPACE_RETRY_SECONDS);
}

/**
 * How long writing the files of a request may take. Usually it takes milliseconds; thousands of folders on a busy disk
 * take longer, and the limit on processor time covers only Typst.
 */
export const MAX_FILL_SECONDS = 5;

/** `Retry-After` of a render that had less than the render timeout: the next attempt may have all of it. */
const SHORT_TIME_RETRY_SECONDS = 1;

/**
 * The problem of a render that has exceeded a limit. If the edge left it less than the render timeout, its document is
 * not to blame: the request may be repeated.
 *
 * @param grantedSeconds the render timeout, or what the edge left of it
 */
export function timedOut(
  cause: TimeoutCause,
  { renderTimeoutSeconds, renderCpuSeconds }: BackendSettings,
  grantedSeconds: number,
): Problem {
  if (cause === "wall_clock" && grantedSeconds < renderTimeoutSeconds) {
    return renderQueueFull("time_budget", SHORT_TIME_RETRY_SECONDS);
  }
  const limits = {
    wall_clock: renderTimeoutSeconds,
    processor_time: renderCpuSeconds,
    writing_files: MAX_FILL_SECONDS,
  };
  return renderTimeout(cause, limits[cause], renderTimeoutSeconds);
}
