/**
 * What is worth another try, and when: a problem of origin `capacity`, a gateway that asks to wait, and a service that could not be
 * reached. It may have rendered already, but it keeps nothing, so that a second render does no harm.
 */
import type { ServiceUnreachableError } from "./errors.ts";
import type { ServiceProblem } from "./service-problem.ts";

export interface RetryOptions {
  /** How often a request is sent, the first time included. Default: 5. */
  readonly maxAttempts?: number;
  /** The same while the service, or a gateway in front of it, is busy and says so. Default: as `maxAttempts`. */
  readonly maxBusyAttempts?: number;
  /** No attempt begins later than this after the first. It ends no attempt: pass a signal for that, or `silenceTimeoutSeconds`. Default: 60. */
  readonly maxTotalSeconds?: number;
}

/** What `onRetry` gets before each wait. */
export interface RetryEvent {
  /** The one that failed, from 1. */
  readonly attempt: number;
  readonly waitSeconds: number;
  readonly reason: ServiceProblem | ServiceUnreachableError;
}

const DEFAULT_MAX_ATTEMPTS = 5;
const DEFAULT_MAX_TOTAL_SECONDS = 60;
const FIRST_BACKOFF_SECONDS = 0.5;
const MAX_BACKOFF_SECONDS = 8;
/** The service itself asks for less unless its queue deadline is longer; a proxy in between may ask for days. */
const MAX_ASKED_WAIT_SECONDS = 300;

export type RetryPolicy = Required<RetryOptions>;

/** Why a request failed. */
export type Failure = ServiceProblem | ServiceUnreachableError;

export interface RetryState {
  readonly attempts: number;
  readonly elapsedSeconds: number;
  readonly failure: Failure;
}

/** @throws RangeError when a bound is not a number in its range */
export function retryPolicy(options: RetryOptions | false = {}): RetryPolicy {
  if (options === false) return { maxAttempts: 1, maxBusyAttempts: 1, maxTotalSeconds: 0 };
  const { maxAttempts = DEFAULT_MAX_ATTEMPTS, maxTotalSeconds = DEFAULT_MAX_TOTAL_SECONDS } = options;
  const { maxBusyAttempts = maxAttempts } = options;
  for (const [name, value] of Object.entries({ maxAttempts, maxBusyAttempts })) {
    if (!Number.isInteger(value) || value < 1) throw new RangeError(`${name} must be an integer from 1.`);
  }
  if (!Number.isFinite(maxTotalSeconds) || maxTotalSeconds < 0) {
    throw new RangeError("maxTotalSeconds must be a number from 0.");
  }
  return { maxAttempts, maxBusyAttempts, maxTotalSeconds };
}

/** What another try is worth: whoever is busy takes the request later, a way that broke may hold, and the rest stays as it is. */
export function worthOf(failure: Failure): "busy" | "again" | "never" {
  if (!(failure instanceof Error)) return failure.origin === "capacity" ? "busy" : "never";
  if (failure.isPermanent) return "never";
  return failure.status === 429 || failure.retryAfterSeconds !== null ? "busy" : "again";
}

/** For how long a failure asks to be left alone; null if it does not say. */
export function askedWaitSeconds(failure: Failure): number | null {
  if (failure instanceof Error) return failure.retryAfterSeconds;
  return "retry_after" in failure.context ? boundWait(failure.context.retry_after) : null;
}

export function backoffSeconds(attempts: number): number {
  return Math.min(MAX_BACKOFF_SECONDS, FIRST_BACKOFF_SECONDS * 2 ** (attempts - 1));
}

/**
 * How long to wait before the next attempt, at least `Retry-After`; null to give up. The random part keeps callers who
 * were rejected together from coming back together. @param random from 0 to 1
 */
export function waitBeforeRetry(
  policy: RetryPolicy,
  { attempts, elapsedSeconds, failure }: RetryState,
  random: number,
): number | null {
  const worth = worthOf(failure);
  const maxAttempts = worth === "busy" ? policy.maxBusyAttempts : policy.maxAttempts;
  if (worth === "never" || attempts >= maxAttempts) return null;
  const backoff = backoffSeconds(attempts);
  const waitSeconds = (askedWaitSeconds(failure) ?? backoff) + random * backoff;
  return elapsedSeconds + waitSeconds > policy.maxTotalSeconds ? null : waitSeconds;
}

/**
 * The seconds of a `Retry-After` field (RFC 9110 section 10.2.3), bounded. A date counts from the `Date` of the same answer, so
 * that the clock of this machine does not matter.
 */
export function readRetryAfter(headers: Headers): number | null {
  const field = headers.get("Retry-After")?.trim() ?? "";
  if (/^[0-9]+$/.test(field)) return boundWait(Number(field));
  const until = parseHttpDate(field);
  if (until === null) return null;
  return boundWait((until - (parseHttpDate(headers.get("Date") ?? "") ?? Date.now())) / 1000);
}

/** Each of the three forms (section 5.6.7) begins with the name of a day, and is in UTC. */
function parseHttpDate(text: string): number | null {
  if (!/^(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)[a-z]*,? .*\d\d:\d\d:\d\d/.test(text)) return null;
  const milliseconds = Date.parse(text.endsWith("GMT") ? text : `${text} GMT`);
  return Number.isNaN(milliseconds) ? null : milliseconds;
}

function boundWait(seconds: number): number {
  return Math.min(Math.max(seconds, 0), MAX_ASKED_WAIT_SECONDS);
}

export function wait(seconds: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    const abort = () => {
      clearTimeout(timer);
      reject(signal?.reason);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener("abort", abort);
      resolve();
    }, seconds * 1000);
    signal?.addEventListener("abort", abort, { once: true });
    if (signal?.aborted) abort();
  });
}
