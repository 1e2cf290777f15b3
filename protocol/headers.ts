/** The names of the service's own header fields, the form of their values, and the fields of every response. */

export const API_TOKEN_HEADER = "X-Service-Api-Token";

/** From the edge to the backend: the edge's own token. Never accepted from a caller nor sent to one. */
export const BACKEND_TOKEN_HEADER = "X-Service-Backend-Token";

/** From the edge to the backend: the limits that the edge validates by. See `limitsFingerprint`. */
export const LIMITS_HEADER = "X-Service-Limits";

/** From the edge to the backend: the name of the caller, by which slots, queue and memory are shared. */
export const CALLER_HEADER = "X-Service-Caller";

/** The caller name of the edge's own renders, with which it probes backends. */
export const PROBE_CALLER = "edge-probe";

/** From the edge to the backend: how many milliseconds the edge waits for the answer, once the body is sent. */
export const TIME_BUDGET_HEADER = "X-Service-Patience-Milliseconds";

/**
 * From the edge to a backend, with any request: what was counted since the last report, as a query's `name=count`, by
 * the names in `rules/causes.ts`. A backend that has counted it repeats the field in its answer.
 */
export const EDGE_COUNTS_HEADER = "X-Service-Edge-Counts";

export const CALLER_NAME_PATTERN = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/;

/** In every response, and from the edge to the backend: the id of the request. */
export const REQUEST_ID_HEADER = "X-Request-Id";

/** A request id is a UUID (RFC 9562). Any other value that arrives is replaced. */
export const REQUEST_ID_PATTERN = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/** From a backend to the edge, in a problem: its code, so that the edge can log it without reading the body. */
export const PROBLEM_CODE_HEADER = "X-Service-Problem-Code";

/** Names the cause of a problem, if it has one. */
export const PROBLEM_CAUSE_HEADER = "X-Service-Problem-Cause";

export const COMMON_HEADERS = { "X-Content-Type-Options": "nosniff" } as const;

export const NOT_STORED_HEADERS = { "Cache-Control": "no-store" } as const;

/** From a backend to the edge, in each answer to a render: how busy it is. The less busy of two gets the next one. */
export const LOAD_HEADER = "X-Service-Load";

export interface BackendLoad {
  readonly running: number;
  readonly waiting: number;
  readonly slots: number;
  /** Whether the backend is about to stop: it still renders, but the edge should send new requests elsewhere. */
  readonly isDraining: boolean;
}

/** The most slots that a backend may have: one that claims more would get every render. */
export const MAX_SLOTS = 256;

const LOAD_FORM = /^running=([0-9]{1,9}),waiting=([0-9]{1,9}),slots=([0-9]{1,9})(,draining)?$/;

export function formatBackendLoad({ running, waiting, slots, isDraining }: BackendLoad): string {
  return `running=${running},waiting=${waiting},slots=${slots}${isDraining ? ",draining" : ""}`;
}

/** The load in a value of the header field; null if the field is absent, has another form or claims too many slots. */
export function parseBackendLoad(value: string | null): BackendLoad | null {
  const match = LOAD_FORM.exec(value ?? "");
  if (match === null) return null;
  const [, running, waiting, slots, draining] = match;
  if (Number(slots) > MAX_SLOTS) return null;
  return {
    running: Number(running),
    waiting: Number(waiting),
    slots: Math.max(1, Number(slots)),
    isDraining: draining !== undefined,
  };
}

/** How long each phase of a request took (https://www.w3.org/TR/server-timing/): the backend's phases, the edge's. */
export const SERVER_TIMING_HEADER = "Server-Timing";

const MAX_TIMING_LENGTH = 512;
const TIMINGS = /^[a-z]+;dur=[0-9]+(?:\.[0-9])?(?:, [a-z]+;dur=[0-9]+(?:\.[0-9])?)*$/;

/** @param milliseconds of each phase, in its order; null or undefined for one that was not reached. */
export function formatServerTiming(milliseconds: Readonly<Record<string, number | null | undefined>>): string {
  return Object.entries(milliseconds)
    .flatMap(([phase, duration]) =>
      typeof duration === "number" ? [`${phase};dur=${Math.max(0, Math.round(duration * 10) / 10)}`] : [],
    )
    .join(", ");
}

/** A field that another part of the service sent, or null if `formatServerTiming` cannot have made it. */
export function parseServerTiming(text: string | null): string | null {
  return text !== null && text.length <= MAX_TIMING_LENGTH && TIMINGS.test(text) ? text : null;
}

export function joinServerTimings(...timings: readonly (string | null)[]): string {
  return timings.filter((timing) => timing !== null && timing !== "").join(", ");
}

/**
 * The path below which a proxy serves the deployment, if the proxy takes it off and says so, as Traefik does. A caller that
 * sends it itself gets it back in its own problems, and nothing else depends on it.
 */
export const FORWARDED_PREFIX_HEADER = "X-Forwarded-Prefix";

const MAX_PREFIX_LENGTH = 256;
const PREFIX = /^(?:\/(?!\.+(?:\/|$))[A-Za-z0-9._~-]+)*\/?$/;

/** The prefix has no slash at its end; it is empty if the field is absent or is no such path. */
export function parseForwardedPrefix(text: string | null | undefined): string {
  const prefix = text ?? "";
  return prefix.length <= MAX_PREFIX_LENGTH && PREFIX.test(prefix) ? prefix.replace(/\/$/, "") : "";
}

/** Whether a client has one of these, by the weak comparison of RFC 9110, section 13.1.2. @param entityTags strong ones, with their quotes */
export function namesEntityTag(ifNoneMatch: string | null, ...entityTags: readonly string[]): boolean {
  if (ifNoneMatch === null) return false;
  return ifNoneMatch.trim() === "*" || (ifNoneMatch.match(/"[^"]*"/g) ?? []).some((tag) => entityTags.includes(tag));
}
