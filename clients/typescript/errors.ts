/**
 * What `ServiceClient` throws: failures instead of an answer of the service. A problem that the service answers, or
 * would answer, is a value; an abort throws the signal's own reason, as `fetch` does.
 */

/** Why no answer came. Browsers do not tell a page, so there it is `unknown`. */
export type UnreachableReason =
  | "refused"
  | "name_not_found"
  | "no_route"
  | "certificate"
  | "wrong_protocol"
  | "timed_out"
  | "no_answer"
  | "connection_broken"
  | "gateway"
  | "unknown";

/** By the codes of Node and its `fetch`. */
const REASONS: readonly (readonly [code: RegExp, reason: UnreachableReason, words: string])[] = [
  [/^ECONNREFUSED$/, "refused", "the connection was refused"],
  [/^(ENOTFOUND|EAI_AGAIN)$/, "name_not_found", "the host name was not found"],
  [/^E(?:HOST|NET)(?:UNREACH|DOWN)$/, "no_route", "there is no route to it"],
  [/CERT|^UNABLE_TO_/, "certificate", "its certificate is not accepted"],
  [/^EPROTO$|^ERR_SSL_|^HPE_/, "wrong_protocol", "it does not speak the protocol of the URL"],
  [/^UND_ERR_(?:HEADERS|BODY)_TIMEOUT$/, "no_answer", "it took the request, and did not answer"],
  [/TIMEOUT|^ETIMEDOUT$/, "timed_out", "it did not answer in time"],
  [/^(ECONNRESET|EPIPE|UND_ERR_SOCKET)$/, "connection_broken", "the connection broke"],
];

/** An error may be its own cause. */
const MAX_CAUSES = 8;

export interface UnreachableDetails {
  /** The URL of the service, without a path. */
  readonly url: string;
  readonly reason: UnreachableReason;
  /** The status of the gateway's answer; null if there was none. */
  readonly status: number | null;
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
    this.attempts = attempts;
    this.elapsedSeconds = elapsedSeconds;
  }

  /** The same failure as the last one of several attempts. */
  after(attempts: number, elapsedSeconds: number): ServiceUnreachableError {
    const { url, reason, status, cause } = this;
    return new ServiceUnreachableError(this.#sentence, { url, reason, status, attempts, elapsedSeconds }, cause);
  }
}

const FIRST_ATTEMPT = { status: null, attempts: 1, elapsedSeconds: 0 } as const;

/** @param cause what `fetch`, or reading its response, has thrown */
export function makeConnectionError({ origin: url }: URL, cause: unknown): ServiceUnreachableError {
  const { code } = innermostCause(cause);
  const [, reason = "unknown", words = "no answer came, or the connection broke"] =
    REASONS.find(([pattern]) => pattern.test(code)) ?? [];
  const sentence = `${url} cannot be reached: ${words}${code === "" ? "" : ` (${code})`}.`;
  return new ServiceUnreachableError(sentence, { ...FIRST_ATTEMPT, url, reason }, cause);
}

/** @param status by which a gateway says that it could not pass the request on */
export function makeGatewayError({ origin: url }: URL, status: number): ServiceUnreachableError {
  const sentence = `A gateway in front of the service at ${url} answered ${status}.`;
  return new ServiceUnreachableError(sentence, { ...FIRST_ATTEMPT, url, reason: "gateway", status });
}

/** @param cause what reading a file has thrown that had begun to arrive */
export function makeBrokenTransferError({ origin: url }: URL, cause: unknown): ServiceUnreachableError {
  if (cause instanceof ServiceUnreachableError) return cause;
  const sentence = `The connection to ${url} broke before the whole file had arrived.`;
  return new ServiceUnreachableError(sentence, { ...FIRST_ATTEMPT, url, reason: "connection_broken" }, cause);
}

export function makeSilenceError({ origin: url }: URL, seconds: number): ServiceUnreachableError {
  const sentence = `${url} does not answer: nothing has come for ${seconds} s.`;
  return new ServiceUnreachableError(sentence, { ...FIRST_ATTEMPT, url, reason: "no_answer" });
}

/** The innermost error that has a code, if any has one: the error that `fetch` throws says only that it failed. */
export function innermostCause(thrown: unknown): { readonly code: string; readonly error: Error | null } {
  let [code, error]: [string, Error | null] = ["", null];
  for (let next = thrown, depth = 0; next instanceof Error && depth < MAX_CAUSES; depth++) {
    const own = "code" in next && typeof next.code === "string" ? next.code : "";
    if (own !== "" || code === "") [code, error] = [own, next];
    // It has one error for each address of the name: the first is as good as any.
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
