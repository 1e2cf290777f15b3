/** How the delivery of an output ended, as the HTTP layer reports it and metrics, log lines and spans count it. */
import type { PhaseRun } from "../render/phases.ts";

export const DELIVERY_ENDS = ["delivered", "client_gone", "silent", "timed_out"] as const;

export type DeliveryEnd = (typeof DELIVERY_ENDS)[number];

export interface Delivery {
  readonly end: DeliveryEnd;
  readonly run: PhaseRun;
}
