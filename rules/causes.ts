/**
 * Why a render ended in 408, 429 or 503, and how an attempt on a backend failed: closed lists. Log lines and metrics have
 * the names, `detail` the words beside them, and log lines what to do about it. The description of the code in
 * `problem.ts` sums them up.
 */

export const CAUSES = {
  /** Each takes the limit that was exceeded, as `formatSeconds` writes it. */
  render_timeout: {
    wall_clock: (limit: string) => `The render took longer than ${limit}.`,
    processor_time: (limit: string) =>
      `The render needed more than ${limit} of processor time: /help/templates#documents-that-grow says what takes it.`,
    writing_files: (limit: string) => `The files of the request could not be written in ${limit}.`,
  },
  render_queue_full: {
    // Decided by the edge.
    rate_limit: "The caller exceeds its rate limit.",
    uploads: "The caller has too many uploads in progress.",
    open_requests: "Too many requests of the caller, or of all callers, are under way at the edge.",
    edge_memory: "No memory for the body became free at the edge in time.",
    edge_memory_share: "Other requests of the caller hold its share of the edge's memory for bodies.",
    backend_full: "A backend was full, and no other could answer.",
    // Decided by a backend.
    slots_busy: "No render slot became free in time.",
    slot_kept_free: "No render slot became free in time. One is kept free for callers with shorter renders.",
    queue_full: "Too many requests are waiting for a render slot.",
    time_budget: "Other attempts or the upload left too little time for the render.",
    body_memory: "No memory is free for the body.",
    body_memory_share: "Other requests of the caller hold its share of the memory for bodies.",
    temporary_space: "No temporary space is free for the render.",
  },
  service_unavailable: {
    /** At the edge or at a backend: nothing is open without a token. */
    no_tokens: "The service has no tokens configured.",
    // Decided by the edge.
    no_backends: "The service has no backends configured.",
    no_backend_answered: "No backend could answer the request.",
    body_dropped: "A backend failed, and the memory of the body was needed for another request.",
    edge_failure: "The edge failed to handle the request.",
    // Decided by a backend.
    draining: "The backend is about to stop.",
    disk_full: "The disk of the backend is full or read-only.",
    process_limit: "The backend can start no more processes.",
    backend_failure: "The backend failed to handle the request.",
  },
} as const;

export type CausedCode = keyof typeof CAUSES;

export type Cause<Code extends CausedCode = CausedCode> = Code extends CausedCode ? keyof (typeof CAUSES)[Code] : never;
export type TimeoutCause = Cause<"render_timeout">;
export type CapacityCause = Cause<"render_queue_full">;
export type UnavailableCause = Cause<"service_unavailable">;

/** How an attempt of the edge on a backend failed. */
export const ATTEMPT_FAILURES = {
  full: "was full",
  refused_request: "refused a request that is valid at the edge",
  /** No connection, or one that took nothing of the request. */
  unreachable: "could not be reached",
  interrupted: "broke off while it was being sent the request",
  /** A connection took all of the request. Whether the backend read it, nobody can say. */
  lost: "was sent the whole request and did not answer",
  token_rejected: "rejected the edge's token",
  foreign: "was not a backend of this service",
  unavailable: "was unavailable",
} as const;

export type AttemptFailure = keyof typeof ATTEMPT_FAILURES;

/** A cause that another part of the service names; undefined if the code has no such cause. */
export function parseCause<Code extends string>(code: Code, name: string | null): Cause<Code & CausedCode> | undefined;
export function parseCause(code: string, name: string | null): Cause | undefined {
  return name !== null && isCausedCode(code) && isCauseOf(code, name) ? name : undefined;
}

function isCausedCode(code: string): code is CausedCode {
  return Object.hasOwn(CAUSES, code);
}

function isCauseOf(code: CausedCode, name: string): name is Cause {
  return Object.hasOwn(CAUSES[code], name);
}

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
  uploads: "Give the caller a rate limit: its uploads stall, because of a slow network or an attack.",
  open_requests:
    "The caller must send fewer renders at once. For more in all, raise the limit on open files of the edge, or run more edges.",
  edge_memory: "Nothing, if rare. Otherwise lower SERVICE_MAX_REQUEST_BODY_BYTES, or run more edges.",
  edge_memory_share: "The caller must send fewer large bodies at once. Others are served.",
  backend_full: "Fix the backends that failed: the others lack room.",
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
  no_backends: 'Set SERVICE_BACKEND_URLS, or fix the DNS failure that the line "backends are not found" names.',
  no_backend_answered: 'See how the attempts failed: "failures", and the lines "a backend did not answer".',
  body_dropped: "See how the backend failed. For the memory, run more edges or lower SERVICE_MAX_REQUEST_BODY_BYTES.",
  edge_failure: 'The line "request failed" says which setting is not valid, or which bug it is.',
  draining: "Nothing: this backend is stopping, and edges use others.",
  disk_full: "Free space in the work directory, or set SERVICE_WORK_DIRECTORY.",
  process_limit: "Raise the limit on processes of the container or the user.",
  backend_failure: 'The line "request failed" with the same reqId says why.',
  full: "See its cause.",
  refused_request: "Give edge and backend the same limits.",
  unreachable: "See whether the backend runs and the edge can connect to it. Check SERVICE_BACKEND_URLS if you set it.",
  interrupted: "Look at the network and proxies between edge and backend, and whether the backend was restarted.",
  lost: "See whether the backend was restarted, or its network failed, during the render.",
  token_rejected: "Add SERVICE_BACKEND_TOKEN of the edge to SERVICE_BACKEND_TOKENS of the backend.",
  foreign: "Look for a proxy in between, or an address in SERVICE_BACKEND_URLS that is not a backend's.",
  unavailable: "See the cause after the status: the backend names it.",
};
