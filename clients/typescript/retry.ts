/**
 * When a request is sent again: after a problem of origin `capacity`, and if the service could not be reached. It may
 * have rendered already, but it keeps nothing, so that a second render does no harm.
 */
import type { ServiceUnreachableError } from "./errors.ts";
import type { ServiceProblem } from "./service-problem.ts";

export interface RetryOptions {
  /** How often a request is sent, the first time included. Default: 5. */
  readonly maxAttempts?: number;
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

export interface RetryState {
  readonly attempts: number;
  readonly elapsedSeconds: number;
  readonly retryAfterSeconds: number | null;
}

/** @throws RangeError when a bound is not a number in its range */
export function retryPolicy(options: RetryOptions | false = {}): RetryPolicy {
  if (options === false) return { maxAttempts: 1, maxTotalSeconds: 0 };
  const { maxAttempts = DEFAULT_MAX_ATTEMPTS, maxTotalSeconds = DEFAULT_MAX_TOTAL_SECONDS } = options;
  if (!Number.isInteger(maxAttempts) || maxAttempts < 1) throw new RangeError("maxAttempts must be an integer from 1.");
  if (!Number.isFinite(maxTotalSeconds) || maxTotalSeconds < 0) {
    throw new RangeError("maxTotalSeconds must be a number from 0.");
  }
  return { maxAttempts, maxTotalSeconds };
}

/**
 * How long to wait before the next attempt, at least `Retry-After`; null to give up. The random part keeps callers who
 * were rejected together from coming back together. @param random from 0 to 1
 */
export function waitBeforeRetry(
  policy: RetryPolicy,
  { attempts, elapsedSeconds, retryAfterSeconds }: RetryState,
  random: number,
): number | null {
  if (attempts >= policy.maxAttempts) return null;
  const backoffSeconds = Math.min(MAX_BACKOFF_SECONDS, FIRST_BACKOFF_SECONDS * 2 ** (attempts - 1));
  const waitSeconds = (retryAfterSeconds ?? backoffSeconds) + random * backoffSeconds;
  return elapsedSeconds + waitSeconds > policy.maxTotalSeconds ? null : waitSeconds;
}

/** The seconds of a `Retry-After` field (RFC 9110 section 10.2.3), bounded. Its other form, a date, is ignored. */
export function parseRetryAfter(field: string | null): number | null {
  return field !== null && /^[0-9]+$/.test(field) ? boundWait(Number(field)) : null;
}

/** The seconds for which a problem asks, bounded. */
export function readRetryAfter({ context }: ServiceProblem): number | null {
  return "retry_after" in context ? boundWait(context.retry_after) : null;
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
