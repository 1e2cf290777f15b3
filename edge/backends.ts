/**
 * Requests from the edge to the backends.
 */
import { limitsFingerprint } from "../rules/limits.ts";
import { LIMITS_HEADER, REQUEST_ID_HEADER } from "../rules/service-headers.ts";
import { BACKEND_TOKEN_HEADER } from "../rules/token.ts";
import { type EdgeContext, settingsOf } from "./context.ts";

/** A backend that cannot be reached, does not answer in time or answers what it must not. */
export class BackendError extends Error {
  override readonly name = "BackendError";
}

/**
 * Sends a judged body to one of the backends, as the client sent it.
 *
 * @throws BackendError
 */
export async function forwardRender(context: EdgeContext, body: Uint8Array<ArrayBuffer>): Promise<Response> {
  const { backendUrls, backendToken, backendTimeoutSeconds, limits } = settingsOf(context);
  const url = backendUrls[Math.floor(Math.random() * backendUrls.length)];
  if (url === undefined) throw new BackendError("SERVICE_BACKEND_URLS names no backend");
  const requested = new URL(context.req.url);
  return fetch(new URL("/v1/render", url), {
    method: "POST",
    body,
    headers: {
      "Content-Type": "application/json",
      [BACKEND_TOKEN_HEADER]: backendToken,
      [REQUEST_ID_HEADER]: context.var.requestId,
      [LIMITS_HEADER]: limitsFingerprint(limits),
      // What the client asked for, so that the backend's problems name it and not the backend.
      "X-Forwarded-Proto": requested.protocol.slice(0, -1),
      "X-Forwarded-Host": requested.host,
    },
    redirect: "manual",
    signal: AbortSignal.timeout(backendTimeoutSeconds * 1000),
  }).catch((cause: unknown) => {
    throw new BackendError(`no answer from ${url.host}: ${String(cause)}`);
  });
}
