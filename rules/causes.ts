/**
 * Why a render was answered 408, 429 or 503, and how an attempt on a backend failed: closed lists. Log lines and
 * metrics have the names; `detail` has the words beside them.
 */

export const CAUSES = {
  /** Each takes the limit that was exceeded, as `formatSeconds` writes it. */
  render_timeout: {
    wall_clock: (limit: string) => `The render took longer than ${limit}.`,
    processor_time: (limit: string) => `The render needed more than ${limit} of processor time.`,
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

/** How an attempt of the edge to have a render answered by a backend failed. */
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

export function isCausedCode(code: string): code is CausedCode {
  return Object.hasOwn(CAUSES, code);
}

function isCauseOf(code: CausedCode, name: string): name is Cause {
  return Object.hasOwn(CAUSES[code], name);
}
