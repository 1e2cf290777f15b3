/**
 * A backend's answer as the client gets it. Only its status and its bytes are the backend's: the edge itself decides the header
 * fields, the file name and how long the answer may be.
 */
import { fileExtensionOf, fileHeaders } from "../../protocol/rendered-file.ts";
import { parseServerTiming, SERVER_TIMING_HEADER } from "../../protocol/server-timing.ts";
import { causeFieldOf, lengthOf, maxAnswerBytes, problemCodeOf } from "../backends/backend-answer.ts";
import { type EdgeContext, settingsOf } from "../context.ts";
import { logFailure } from "../log/request-log.ts";
import { PROBLEM_HEADERS } from "../problem-response.ts";

/** @param suggestedName the file name that the request asks for, or null */
export function clientResponse(context: EdgeContext, response: Response, suggestedName: string | null): Response {
  const { record } = context.var;
  record.backendTiming = parseServerTiming(response.headers.get(SERVER_TIMING_HEADER));
  record.code = problemCodeOf(response) ?? "ok";
  record.cause = causeFieldOf(response);
  const extension = fileExtensionOf(response.headers.get("Content-Type"));
  const headers = new Headers(extension === null ? PROBLEM_HEADERS : fileHeaders(extension, suggestedName));
  const { status, body } = response;
  const length = lengthOf(response);
  if (body === null || length !== null) {
    // The runtime sends exactly as many bytes as this field says.
    if (length !== null) headers.set("Content-Length", String(length));
    return new Response(body, { status, headers });
  }
  return new Response(body.pipeThrough(cutOff(context, maxAnswerBytes(response, settingsOf(context).limits))), {
    status,
    headers,
  });
}

/** Passes bytes on, and breaks the answer off where it becomes too long. It keeps nothing. */
function cutOff(context: EdgeContext, maxBytes: number): TransformStream<Uint8Array, Uint8Array> {
  let bytes = 0;
  return new TransformStream({
    transform(piece, controller) {
      bytes += piece.length;
      if (bytes <= maxBytes) return controller.enqueue(piece);
      const { record, requestId } = context.var;
      logFailure(context, "warn", {
        requestId,
        message: "an answer over the limit was cut off",
        origin: record.origin,
      });
      controller.error(new RangeError("the answer is over its limit"));
    },
  });
}
