/** The causes of 429 and 503 that a backend gives; the edge gives all others, and `no_tokens` as well. */
import { CAUSES, type Cause } from "../../rules/causes.ts";

export const BACKEND_CAPACITY_CAUSES = [
  "slots_busy",
  "slot_kept_free",
  "queue_full",
  "time_budget",
  "body_memory",
  "body_memory_share",
  "temporary_space",
] as const satisfies readonly Cause<"render_queue_full">[];

export const BACKEND_CAUSES = [...BACKEND_CAPACITY_CAUSES, "no_tokens", "draining", "backend_failure"] as const;

/**
 * Those that a backend gives only where its machine has no room: see faults.test.ts and process-1.test.ts in
 * test/backend/attacks.
 */
export const MACHINE_CAUSES = ["disk_full", "process_limit"] as const satisfies readonly Cause<"service_unavailable">[];

/** What is said of each. */
export const REFUSALS = { ...CAUSES.render_queue_full, ...CAUSES.service_unavailable } as const;
