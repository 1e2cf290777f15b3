/**
 * How a request was answered, as the HTTP layer reports it and metrics, log lines and spans count it. `RenderOutcome`
 * is what its render gave; `RequestOutcome` is one word for what its client got.
 */
import type { RequestOutcome } from "../../protocol/request-outcome.ts";
import type { OutputFormat } from "../../rules/output-options.ts";
import type { RenderOutcome } from "../render/outcome.ts";
import type { PhaseRun } from "../render/phases.ts";

export interface RequestReport {
  readonly outcome: RenderOutcome;
  /** `none` if the request was refused before its format was known. */
  readonly format: OutputFormat | "none";
  readonly suggestedName: string | null;
  readonly runs: readonly PhaseRun[];
  readonly peakMemoryBytes?: number | null;
  readonly requestBytes?: number | undefined;
}

export const DELIVERY_ENDS = ["delivered", "client_gone", "silent", "timed_out"] as const;

export type DeliveryEnd = (typeof DELIVERY_ENDS)[number];

export interface Delivery {
  readonly end: DeliveryEnd;
  readonly run: PhaseRun;
}

/** @param delivery null if there was no file to deliver. */
export function requestOutcome(outcome: RenderOutcome, delivery: Delivery | null): RequestOutcome {
  if (outcome.kind === "refused") return outcome.problem.code;
  return delivery?.end === "delivered" ? "ok" : "client_gone";
}
