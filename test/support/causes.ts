/** Which part of the service gives which cause. A test of each part provokes its own; together they are the lists in rules/causes.ts. */
import type { CapacityCause, UnavailableCause } from "../../rules/causes.ts";

export const EDGE_CAUSES = [
  "rate_limit",
  "uploads",
  "edge_memory",
  "edge_memory_share",
  "backend_full",
  "no_tokens",
  "no_backends",
  "no_backend_answered",
  "body_dropped",
  "edge_failure",
] as const satisfies readonly (CapacityCause | UnavailableCause)[];

export const BACKEND_CAPACITY_CAUSES = [
  "slots_busy",
  "slot_kept_free",
  "queue_full",
  "time_budget",
  "body_memory",
  "body_memory_share",
  "temporary_space",
] as const satisfies readonly CapacityCause[];

export const BACKEND_CAUSES = [
  ...BACKEND_CAPACITY_CAUSES,
  "no_tokens",
  "draining",
  "backend_failure",
] as const satisfies readonly (CapacityCause | UnavailableCause)[];
