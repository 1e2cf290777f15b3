/** The outcome of a render: the one place that decides which problem the end of a Typst process is. */
import type { FileExtension } from "../../protocol/rendered-file.ts";
import type { TimeoutCause } from "../../rules/causes.ts";
import { type BrokenRuleId, describeBriefly } from "../../rules/finished-pdf/broken-rule.ts";
import type { FinishedPdf } from "../../rules/finished-pdf/finished-pdf.ts";
import type { Output } from "../../rules/output-options.ts";
import { outputTooLarge, type Problem, problem, renderQueueFull, renderTimeout } from "../../rules/problem.ts";
import { ServiceFailure } from "../error-log.ts";
import type { BackendSettings } from "../settings.ts";
import type { StopReason, TypstReport } from "../typst/process.ts";
import type { Spool } from "./spool.ts";

export interface SpooledFile {
  readonly output: Spool;
  readonly extension: FileExtension;
}

export type RenderOutcome = { readonly kind: "rendered"; readonly file: SpooledFile } | RenderFailure;

export type RenderFailure = { readonly kind: "refused"; readonly problem: Problem } | { readonly kind: "client-gone" };

export const CLIENT_GONE = { kind: "client-gone" } as const satisfies RenderFailure;

export function refuse(problem: Problem) {
  return { kind: "refused", problem } as const satisfies RenderFailure;
}

/** Null if the process succeeded: then its output decides. @throws if Typst never ran or its output is lost */
export function failureOfTypst(
  report: TypstReport,
  settings: BackendSettings,
  grantedSeconds: number,
): RenderFailure | null {
  const { end, outputTaken, outputBytes, ranOutOfMemory } = report;
  const { max_output_bytes } = settings.limits;
  // Checked first: a process over the limit may exit before it is stopped.
  if (outputTaken === "too-large" || outputBytes > max_output_bytes) return failBySize(outputBytes, settings);
  if (outputTaken === "no-room") return failBySpace();
  switch (end.kind) {
    case "not-started":
    case "output-lost":
      throw end.cause;
    case "stopped":
      return failureOfStop(end.reason, report, settings, grantedSeconds);
    case "signalled":
      if (ranOutOfMemory) {
        return failCompile(`The render needed more memory than its ${settings.renderMemoryBytes} bytes.`);
      }
      // SIGXCPU and SIGXFSZ come from our own limits. Any other signal is a failure of the service.
      if (end.signal === "SIGXCPU") return failByTimeout("processor_time", settings, grantedSeconds);
      return end.signal === "SIGXFSZ" ? failBySize(outputBytes, settings) : failRender();
    case "exited":
      return end.exitCode === 0
        ? null
        : failCompile("Typst could not produce the requested output from this template.");
  }
}

function failureOfStop(
  reason: StopReason,
  { outputBytes }: TypstReport,
  settings: BackendSettings,
  grantedSeconds: number,
): RenderFailure {
  switch (reason) {
    case "client-gone":
      return CLIENT_GONE;
    case "render-timeout":
      return failByTimeout("wall_clock", settings, grantedSeconds);
    case "output-too-large":
      return failBySize(outputBytes, settings);
    case "too-many-files":
      return failByPageCount(settings);
    case "no-room":
      return failBySpace();
    case "not-needed":
      throw new ServiceFailure("a process was discarded while its request waited for it");
  }
}

/** Only Typst's diagnostics would say more, and they are never passed on. */
export function failCompile(detail: string): RenderFailure {
  return refuse(problem("template_compile_failed", detail, {}));
}

export const SEVERAL_PAGES = failCompile(
  'The document has several pages. Select one with "page", or all of them with "archive": "zip".',
);

export const SELECTION_EMPTY = failCompile('The document has none of the pages that "pages" selects.');

/** Typst exited with 0 and wrote no page: the template's failure only if the request chose pages. */
export function failWithoutPage(wanted: Output): RenderFailure {
  if (wanted.format === "pdf") return failRender();
  if (wanted.page !== null) return failCompile(`The document has no page ${wanted.page}.`);
  return wanted.pages === null ? failRender() : SELECTION_EMPTY;
}

/** What a log line says of a PDF that does not keep its standards, or could not be read. */
export type PdfCheck = BrokenRuleId | "unread";

/** @param pdf null if it claims no standard */
export function judgePdf(pdf: FinishedPdf | null): {
  readonly check: PdfCheck | null;
  readonly failure: RenderFailure | null;
} {
  const verdict = pdf?.end() ?? { kind: "kept" };
  switch (verdict.kind) {
    case "kept":
      return { check: null, failure: null };
    case "broken": {
      const [first] = verdict.rules;
      return { check: first.rule, failure: failCompile(describeBriefly(first)) };
    }
    case "unread":
      // The fault of this service, if a later Typst writes its files in another form: no reason to refuse a document.
      return { check: "unread", failure: null };
  }
}

function failRender(): RenderFailure {
  return refuse(problem("render_failed", "The render ended without an output, and not because of the template.", {}));
}

export function failBySize(bytes: number, { limits }: BackendSettings): RenderFailure {
  return refuse(outputTooLarge(bytes, limits.max_output_bytes));
}

export function failByPageCount({ limits }: BackendSettings): RenderFailure {
  const limit = limits.max_output_files;
  const detail = `The document has more pages than the ${limit} that an archive may hold.`;
  return refuse(problem("too_many_output_files", detail, { limit }));
}

const NO_SPACE_RETRY_SECONDS = 5;

/** Other renders hold the temporary space, which becomes free when their outputs are delivered. */
export function failBySpace(): RenderFailure {
  return refuse(renderQueueFull("temporary_space", NO_SPACE_RETRY_SECONDS));
}

/** For writing the files of a request: usually milliseconds, but not for thousands of folders on a busy disk. */
export const MAX_FILL_SECONDS = 5;

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
