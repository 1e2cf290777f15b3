/**
 * What `ServiceClient` throws: failures instead of an answer of the service. A problem that the service answers, or
 * would answer, is a value; an abort throws the signal's own reason, as `fetch` does.
 */

import { connectionFaultOf, type UnreachableReason } from "./connection-faults.ts";

/** An error may be its own cause. */
const MAX_CAUSES = 8;

export interface UnreachableDetails {
  /** The URL of the service, without a path. */
  readonly url: string;
  readonly reason: UnreachableReason;
  /** The status of the gateway's answer; null if there was none. */
  readonly status: number | null;
  /** How long the gateway asks to wait; null if it does not say. */
  readonly retryAfterSeconds: number | null;
  /** Whether another attempt would meet the same: an unknown name, a certificate, another protocol. */
  readonly isPermanent: boolean;
  /** How often the request was sent. */
  readonly attempts: number;
  /** From the first attempt to the end of the last one, waits included. */
  readonly elapsedSeconds: number;
}

/**
 * The service could not be reached, the connection broke, or a gateway in front of it said that it could not: thrown
 * after the last retry. Nothing is known about the render, and sending the request again does no harm.
 */
export class ServiceUnreachableError extends Error implements UnreachableDetails {
  override readonly name = "ServiceUnreachableError";
  readonly url: string;
  readonly reason: UnreachableReason;
  readonly status: number | null;
  readonly retryAfterSeconds: number | null;
  readonly isPermanent: boolean;
  readonly attempts: number;
  readonly elapsedSeconds: number;
  readonly #sentence: string;

  constructor(sentence: string, details: UnreachableDetails, cause?: unknown) {
    const { attempts, elapsedSeconds } = details;
    const tried = attempts > 1 ? ` Tried ${attempts} times in ${elapsedSeconds.toFixed(1)} s.` : "";
    super(`${sentence}${tried}`, { cause });
    this.#sentence = sentence;
    this.url = details.url;
    this.reason = details.reason;
    this.status = details.status;
    this.retryAfterSeconds = details.retryAfterSeconds;
    this.isPermanent = details.isPermanent;
    this.attempts = attempts;
    this.elapsedSeconds = elapsedSeconds;
  }

  /** The same failure as the last one of several attempts. */
  after(attempts: number, elapsedSeconds: number): ServiceUnreachableError {
    const { url, reason, status, retryAfterSeconds, isPermanent, cause } = this;
    const details = { url, reason, status, retryAfterSeconds, isPermanent, attempts, elapsedSeconds };
    return new ServiceUnreachableError(this.#sentence, details, cause);
  }
}

const FIRST_ATTEMPT = {
  status: null,
  retryAfterSeconds: null,
  isPermanent: false,
  attempts: 1,
  elapsedSeconds: 0,
} as const;

/** @param cause what `fetch`, or reading its response, has thrown */
export function makeConnectionError({ origin: url }: URL, cause: unknown): ServiceUnreachableError {
  const { code, error } = innermostCause(cause);
  const { reason, words, isPermanent } = connectionFaultOf(code === "" ? (error?.name ?? "") : code);
  const sentence = `${url} cannot be reached: ${words}${code === "" ? "" : ` (${code})`}.`;
  return new ServiceUnreachableError(sentence, { ...FIRST_ATTEMPT, url, reason, isPermanent }, cause);
}

/** @param status by which a gateway says that it could not pass the request on */
export function makeGatewayError(
  { origin: url }: URL,
  status: number,
  retryAfterSeconds: number | null,
): ServiceUnreachableError {
  const sentence = `A gateway in front of the service at ${url} answered ${status}.`;
  const details = { ...FIRST_ATTEMPT, url, reason: "gateway", status, retryAfterSeconds } as const;
  return new ServiceUnreachableError(sentence, details);
}

/** @param cause what reading an answer has thrown that had begun to arrive; nothing if it ended without its end */
export function makeBrokenTransferError({ origin: url }: URL, cause?: unknown): ServiceUnreachableError {
  if (cause instanceof ServiceUnreachableError) return cause;
  const sentence = `The connection to ${url} broke before the whole answer had arrived.`;
  return new ServiceUnreachableError(sentence, { ...FIRST_ATTEMPT, url, reason: "connection_broken" }, cause);
}

export function makeSilenceError({ origin: url }: URL, seconds: number): ServiceUnreachableError {
  const sentence = `${url} does not answer: nothing has come for ${seconds} s.`;
  return new ServiceUnreachableError(sentence, { ...FIRST_ATTEMPT, url, reason: "no_answer" });
}

/** The innermost error that has a code, or else the innermost one: the error that `fetch` throws says only that it failed. */
export function innermostCause(thrown: unknown): { readonly code: string; readonly error: Error | null } {
  let [code, error]: [string, Error | null] = ["", null];
  for (let next = thrown, depth = 0; next instanceof Error && depth < MAX_CAUSES; depth++) {
    const own = "code" in next && typeof next.code === "string" ? next.code : "";
    if (own !== "" || code === "") [code, error] = [own, next];
    // An AggregateError has one error for each address of the name: the first is as good as any.
    next = next instanceof AggregateError ? next.errors[0] : next.cause;
  }
  return { code, error };
}

/** The response did not come from this service: the URL is probably wrong. Never retried. */
export class UnexpectedResponseError extends Error {
  override readonly name = "UnexpectedResponseError";
  /** The status of the answer; 0 if a browser hides it, as it does for redirects. */
  readonly status: number;

  constructor(message: string, status: number) {
    super(message);
    this.status = status;
  }
}
