/**
 * OpenTelemetry traces of render requests. Without an endpoint there is no tracing, and the SDK is not loaded.
 */

import type { RequestOutcome } from "../../protocol/request-outcome.ts";
import type { TraceParent } from "../../protocol/trace-context.ts";
import type { OutputFormat } from "../../rules/output-options.ts";
import type { PhaseRun, RequestPhase } from "../render/phases.ts";
import type { TimeoutCause } from "../render/timeouts.ts";
import type { BackendSettings } from "../start/settings.ts";

/** What the spans of a finished request say. Nothing of its content is here. */
export interface TracedRequest {
  readonly requestId: string;
  /** Of the client's request, as the edge passes it on. */
  readonly scheme: "http" | "https";
  readonly parent: TraceParent | null;
  readonly caller: string;
  readonly format: OutputFormat | "none";
  readonly outcome: RequestOutcome;
  readonly timeoutCause: TimeoutCause | undefined;
  readonly requestBytes: number | undefined;
  readonly outputBytes: number | undefined;
  /** By the clock of `performance.now`. */
  readonly startMilliseconds: number;
  readonly endMilliseconds: number;
  readonly runs: readonly PhaseRun<RequestPhase>[];
}

export interface Tracing {
  /** Makes the spans of a request and queues them. Never waits and never throws. */
  record(request: TracedRequest): void;
  /** The number of spans that no collector has taken or for which the queue had no room. */
  readonly lostSpans: number;
  /** Exports what is queued. It gives up after a bounded time. */
  shutdown(): Promise<void>;
}

/**
 * Opens the tracing that the settings ask for; null if they ask for none.
 *
 * @param report is called with one line for the operator when exports begin to fail.
 */
export async function openTracing(
  { tracesUrl }: BackendSettings,
  report: (line: string) => void,
): Promise<Tracing | null> {
  if (tracesUrl === null) return null;
  // Loaded only here: it takes 8 MB (measured) that a backend without a collector does not spend.
  const { OtlpTracing } = await import("./otlp-tracing.ts");
  return new OtlpTracing(tracesUrl, report);
}
