/**
 * What the operator can do about a render that this backend answered 408, 429 or 503: one sentence for each cause, in
 * the log line and in docs/monitoring.md.
 */
import type { Cause } from "../../rules/causes.ts";

export const NEXT_STEPS = {
  wall_clock:
    "If renders of others are slow too, add cores or lower SERVICE_MAX_CONCURRENT_RENDERS; otherwise simplify the template, or raise SERVICE_RENDER_TIMEOUT_SECONDS.",
  processor_time: "Look for a loop in the caller's template; for a large document, raise SERVICE_RENDER_CPU_SECONDS.",
  writing_files: "Set SERVICE_WORK_DIRECTORY to a faster disk, or have the caller send fewer folders.",
  slots_busy: "Add backends, or raise SERVICE_MAX_CONCURRENT_RENDERS if cores are idle.",
  slot_kept_free:
    "Add slots. The caller's renders are long, and the last slot is kept for callers with shorter ones, by design.",
  queue_full:
    "Add backends, or raise SERVICE_MAX_QUEUED_RENDERS; service_caller_requests_total shows a caller that sends far more than others.",
  time_budget: "See how the edge's other attempts failed, and how fast the link between edge and backend is.",
  body_memory: "Raise SERVICE_MAX_BODY_MEMORY_BYTES if the machine has memory, or add backends.",
  body_memory_share: "The caller must send fewer large bodies at once. Others are served.",
  temporary_space: "Raise SERVICE_MAX_TEMP_BYTES if the disk has room, or have the caller send fewer renders at once.",
  no_tokens: "Set SERVICE_BACKEND_TOKENS.",
  draining: "Nothing: this backend is being stopped, and edges use others.",
  disk_full: "Free space in the work directory, or set SERVICE_WORK_DIRECTORY.",
  process_limit: "Raise the limit on processes of the container or the user.",
  backend_failure: 'The line "request failed" with the same reqId says why.',
} as const satisfies Partial<Record<Cause, string>>;

/** Undefined for a cause that only the edge has. */
export function nextStep(cause: Cause): string | undefined {
  return Object.entries(NEXT_STEPS).find(([name]) => name === cause)?.[1];
}
