/**
 * Requests from the edge to the backends.
 */

import { CALLER_HEADER, LIMITS_HEADER, REQUEST_ID_HEADER } from "../rules/http/headers.ts";
import { BACKEND_TOKEN_HEADER } from "../rules/http/tokens.ts";
import { limitsFingerprint } from "../rules/limits.ts";
import { type EdgeContext, settingsOf } from "./context.ts";

/** A body is handed over in pieces of this size, so that the edge learns when the last one has gone. */
const PIECE_BYTES = 256 * 1024;

/** A backend that cannot be reached, does not answer in time or answers what it must not. */
export class BackendError extends Error {
  override readonly name = "BackendError";
}

/**
 * Sends a validated body to one of the backends, as the client sent it. When the client goes, the request ends, and with it
 * the backend's render.
 *
 * @param onSent called when the backend has taken the whole body, which is not needed any longer.
 * @throws BackendError
 */
export async function forwardRender(
  context: EdgeContext,
  body: Uint8Array<ArrayBuffer>,
  onSent: () => void,
): Promise<Response> {
  const { backendUrls, backendToken, backendTimeoutSeconds, limits } = settingsOf(context);
  const url = backendUrls[Math.floor(Math.random() * backendUrls.length)];
  if (url === undefined) throw new BackendError("SERVICE_BACKEND_URLS names no backend");
  const requested = new URL(context.req.url);
  const { readable, writable } = new FixedLengthStream(body.length);
  // A backend that is gone, or answers before it has read everything, fails the fetch or has answered: nothing is lost.
  const sending = sendInPieces(writable, body).then(onSent, () => {});
  const answer = await fetch(new URL("/v1/render", url), {
    method: "POST",
    body: readable,
    headers: {
      "Content-Type": "application/json",
      [BACKEND_TOKEN_HEADER]: backendToken,
      [REQUEST_ID_HEADER]: context.var.requestId,
      [CALLER_HEADER]: context.var.caller,
      [LIMITS_HEADER]: limitsFingerprint(limits),
      // What the client asked for, so that the backend's problems name it and not the backend.
      "X-Forwarded-Proto": requested.protocol.slice(0, -1),
      "X-Forwarded-Host": requested.host,
    },
    redirect: "manual",
    signal: AbortSignal.any([context.req.raw.signal, AbortSignal.timeout(backendTimeoutSeconds * 1000)]),
  }).catch((cause: unknown) => {
    throw new BackendError(`no answer from ${url.host}: ${String(cause)}`);
  });
  void sending;
  return answer;
}

async function sendInPieces(writable: WritableStream<Uint8Array>, body: Uint8Array<ArrayBuffer>): Promise<void> {
  const writer = writable.getWriter();
  // Says the same as the write that fails.
  writer.closed.catch(() => {});
  for (let at = 0; at < body.length; at += PIECE_BYTES) await writer.write(body.subarray(at, at + PIECE_BYTES));
  await writer.close();
}
