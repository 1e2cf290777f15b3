/**
 * From the end of a Typst process to the outcome of a render: the one place that decides which problem it is.
 */
import { type Problem, problem } from "../rules/problem.ts";
import type { BackendSettings } from "./settings.ts";
import type { TypstResult } from "./typst-process.ts";

/** The client went away: nobody is there to answer, and it is no failure of anything. */
export const CLIENT_GONE = "client-gone";

/** What the end of a process means; null where it succeeded and its output decides. */
export function outcomeOfEnd(result: TypstResult, settings: BackendSettings): Problem | typeof CLIENT_GONE | null {
  const { end } = result;
  // First of all, however it ended: it may have ended by itself before it could be stopped, its output already dropped.
  if (result.outputBytes > settings.limits.max_output_bytes) return outputTooLarge(result.outputBytes, settings);
  switch (end.kind) {
    case "not-started":
      throw end.cause;
    case "stopped":
      switch (end.reason) {
        case "client-gone":
          return CLIENT_GONE;
        case "render-timeout":
          return renderTimeout(settings);
        case "output-too-large":
          return outputTooLarge(result.outputBytes, settings);
        case "not-needed":
          throw new Error("a process was discarded while its request waited for it");
      }
      break;
    case "signalled":
      return outcomeOfSignal(end.signal, result, settings);
    case "exited":
      return end.exitCode === 0 ? null : compileFailed();
  }
}

/** The signals of the render's own limits mean what the limit means. Any other is a failure of the service. */
function outcomeOfSignal(signal: string, result: TypstResult, settings: BackendSettings): Problem {
  if (result.ranOutOfMemory) return compileFailed();
  switch (signal) {
    case "SIGXCPU":
      return renderTimeout(settings);
    case "SIGXFSZ":
      return outputTooLarge(settings.limits.max_output_bytes + 1, settings);
    default:
      return renderFailed();
  }
}

export function compileFailed(): Problem {
  return problem("template_compile_failed", "Typst could not make the requested output of this template.", {});
}

export function renderFailed(): Problem {
  return problem("render_failed", "The render ended without an output and without a cause in the template.", {});
}

export function outputTooLarge(size: number, { limits }: BackendSettings): Problem {
  const limit = limits.max_output_bytes;
  return problem("output_too_large", `The output has ${size} bytes or more; at most ${limit} are allowed.`, {
    size,
    limit,
  });
}

export function tooManyOutputFiles({ limits }: BackendSettings): Problem {
  const limit = limits.max_output_files;
  return problem("too_many_output_files", `The document has more pages than the ${limit} that an archive may hold.`, {
    limit,
  });
}

function renderTimeout({ renderTimeoutSeconds }: BackendSettings): Problem {
  const detail = `The render took longer than ${renderTimeoutSeconds} seconds.`;
  return problem("render_timeout", detail, { timeout_secs: renderTimeoutSeconds });
}
