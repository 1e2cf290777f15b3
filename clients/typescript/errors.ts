/**
 * What `ServiceClient` throws: failures instead of an answer of the service. A problem that the service answers, or
 * would answer, is a value; an abort throws the signal's own reason, as `fetch` does.
 */

/**
 * The service could not be reached, the connection broke, or a gateway in front of the service said that it could not.
 * Thrown after the last retry. Nothing is known about the render; since the service keeps nothing, sending the request
 * again does no harm.
 */
export class ServiceUnreachableError extends Error {
  override readonly name = "ServiceUnreachableError";
  /** The status of the gateway's answer; null if there was none. */
  readonly status: number | null;

  constructor(message: string, options: { readonly status?: number; readonly cause?: unknown } = {}) {
    super(message, { cause: options.cause });
    this.status = options.status ?? null;
  }
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
