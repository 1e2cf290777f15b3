/**
 * Forwards requests from the edge to the backends.
 */

import { BACKEND_TOKEN_HEADER, CALLER_HEADER, LIMITS_HEADER, REQUEST_ID_HEADER } from "../rules/http/headers.ts";
import {
  formatTraceparent,
  parseTraceparent,
  passableTracestate,
  TRACEPARENT_HEADER,
  TRACESTATE_HEADER,
} from "../rules/http/trace-context.ts";
import { limitsFingerprint } from "../rules/limits.ts";
import { type EdgeContext, settingsOf } from "./context.ts";

/** A body is written in chunks of this size, so that the edge notices when the backend has taken the last one. */
const CHUNK_BYTES = 256 * 1024;

/** A backend that cannot be reached, does not respond in time or sends an unexpected response. */
export class BackendError extends Error {
  override readonly name = "BackendError";
}

/**
 * Sends a validated body to one of the backends, byte for byte. When the client disconnects, the request is aborted, which
 * ends the render.
 *
 * @param onSent called when the backend has taken the whole body, so that its memory can be freed.
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
  // A failed write needs no handling: the fetch fails as well, or the backend has responded before the end of the body.
  const sending = sendInChunks(writable, body).then(onSent, () => {});
  const response = await fetch(new URL("/v1/render", url), {
    method: "POST",
    body: readable,
    headers: {
      "Content-Type": "application/json",
      [BACKEND_TOKEN_HEADER]: backendToken,
      [REQUEST_ID_HEADER]: context.var.requestId,
      [CALLER_HEADER]: context.var.caller,
      [LIMITS_HEADER]: limitsFingerprint(limits),
      ...traceHeaders(context.req.raw.headers),
      // The URL of the client's request, for the `instance` of the backend's problems.
      "X-Forwarded-Proto": requested.protocol.slice(0, -1),
      "X-Forwarded-Host": requested.host,
    },
    redirect: "manual",
    signal: AbortSignal.any([context.req.raw.signal, AbortSignal.timeout(backendTimeoutSeconds * 1000)]),
  }).catch((cause: unknown) => {
    throw new BackendError(`no response from ${url.host}: ${String(cause)}`);
  });
  void sending;
  return response;
}

async function sendInChunks(writable: WritableStream<Uint8Array>, body: Uint8Array<ArrayBuffer>): Promise<void> {
  const writer = writable.getWriter();
  // Rejects with the error of the write that fails, which the caller handles.
  writer.closed.catch(() => {});
  for (let at = 0; at < body.length; at += CHUNK_BYTES) await writer.write(body.subarray(at, at + CHUNK_BYTES));
  await writer.close();
}

/** The trace that the caller's request belongs to. The edge records no span of its own, so it passes it on unchanged. */
function traceHeaders(headers: Headers): Record<string, string> {
  const parent = parseTraceparent(headers.get(TRACEPARENT_HEADER));
  if (parent === null) return {};
  const state = passableTracestate(headers.get(TRACESTATE_HEADER));
  return {
    [TRACEPARENT_HEADER]: formatTraceparent(parent),
    ...(state !== null && { [TRACESTATE_HEADER]: state }),
  };
}
