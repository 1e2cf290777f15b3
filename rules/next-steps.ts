/** What a log line says of a cause: its name, in a field of its own, and what the operator can do about it. */
import { type AttemptFailure, type Cause, type CausedCode, isCausedCode } from "./causes.ts";

const CAUSE_FIELDS = {
  render_timeout: "timeoutCause",
  render_queue_full: "capacityCause",
  service_unavailable: "unavailableCause",
} as const satisfies Record<CausedCode, string>;

export type CauseFields = { readonly [Code in CausedCode as (typeof CAUSE_FIELDS)[Code]]?: Cause } & {
  readonly nextStep?: string;
};

export function causeFields({ code, cause }: { code: string; cause?: Cause | undefined }): CauseFields {
  return cause !== undefined && isCausedCode(code) ? { [CAUSE_FIELDS[code]]: cause, nextStep: NEXT_STEPS[cause] } : {};
}

/** One sentence for each cause and failure, in log lines and in docs/monitoring.md. */
export const NEXT_STEPS: Readonly<Record<Cause | AttemptFailure, string>> = {
  wall_clock:
    "If renders of others are slow too, add cores or lower SERVICE_MAX_CONCURRENT_RENDERS; otherwise simplify the template, or raise SERVICE_RENDER_TIMEOUT_SECONDS.",
  processor_time: "Look for a loop in the caller's template; for a large document, raise SERVICE_RENDER_CPU_SECONDS.",
  writing_files: "Set SERVICE_WORK_DIRECTORY to a faster disk, or have the caller send fewer folders.",
  rate_limit: "Raise the rate limit if the caller may send more.",
  uploads: "Give the caller a rate limit: its uploads do not go on, because of a slow network or an attack.",
  open_requests:
    "The caller must send fewer renders at once. For more in all, raise the limit on open files of the edge, or run more edges.",
  edge_memory: "Nothing, if rare. Otherwise lower SERVICE_MAX_REQUEST_BODY_BYTES, or run more edges.",
  edge_memory_share: "The caller must send fewer large bodies at once. Others are served.",
  backend_full: "Mend the backends that failed: they are what is missing.",
  slots_busy: "Add backends, or raise SERVICE_MAX_CONCURRENT_RENDERS if cores are idle.",
  slot_kept_free:
    "Add slots. The caller's renders are long, and the last slot is kept for callers with shorter ones, by design.",
  queue_full:
    "Add backends, or raise SERVICE_MAX_QUEUED_RENDERS; service_caller_requests_total shows a caller that sends far more than others.",
  time_budget: "See how the edge's other attempts failed, and how fast the link between edge and backend is.",
  body_memory: "Raise SERVICE_MAX_BODY_MEMORY_BYTES if the machine has memory, or add backends.",
  body_memory_share: "The caller must send fewer large bodies at once. Others are served.",
  temporary_space: "Raise SERVICE_MAX_TEMP_BYTES if the disk has room, or have the caller send fewer renders at once.",
  no_tokens: "Set SERVICE_API_TOKENS of the edge, SERVICE_BACKEND_TOKENS of the backend.",
  no_backends: 'Set SERVICE_BACKEND_URLS, or mend what the line "backends are not found" says of DNS.',
  no_backend_answered: 'See how the attempts failed: "failures", and the lines "a backend did not answer".',
  body_dropped: "See how the backend failed. For the memory, run more edges or lower SERVICE_MAX_REQUEST_BODY_BYTES.",
  edge_failure: 'The line "request failed" says which setting is not valid, or which bug it is.',
  draining: "Nothing: this backend is being stopped, and edges use others.",
  disk_full: "Free space in the work directory, or set SERVICE_WORK_DIRECTORY.",
  process_limit: "Raise the limit on processes of the container or the user.",
  backend_failure: 'The line "request failed" with the same reqId says why.',
  full: "See its cause.",
  refused_request: "Give edge and backend the same limits.",
  unreachable: "Check the address in SERVICE_BACKEND_URLS, that the backend runs, and that the edge can connect to it.",
  interrupted: "Look at the network and proxies between edge and backend, and whether the backend was restarted.",
  lost: "See whether the backend was restarted, or its network failed, during the render.",
  token_rejected: "Add SERVICE_BACKEND_TOKEN of the edge to SERVICE_BACKEND_TOKENS of the backend.",
  foreign: "Look for a proxy in between, or an address in SERVICE_BACKEND_URLS that is not a backend's.",
  unavailable: "See the cause after the status: it is the backend's own.",
};
