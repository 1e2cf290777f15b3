/** `POST /v1/render` at the edge: validates the request completely, and forwards its bytes to a backend. */
import { BodyCollector, NO_MEMORY_RETRY_SECONDS } from "../../protocol/body-collector.ts";
import { parseServerTiming, SERVER_TIMING_HEADER } from "../../protocol/headers.ts";
import { fileHeaders } from "../../protocol/rendered-file.ts";
import type { Output } from "../../rules/output-options.ts";
import { renderQueueFull } from "../../rules/problem.ts";
import { parseRenderRequest } from "../../rules/render-request.ts";
import { declaredSize, type RequestHead, validateDeclaredSize, validateMediaType } from "../../rules/request-head.ts";
import { type AnswerBody, describeBody, problemOf, problemOfLength } from "../backends/backend-answer.ts";
import type { BodyReservation } from "../body/body-memory.ts";
import { HeldBody } from "../body/held-body.ts";
import { longestRenderMilliseconds, readBody } from "../body/read-body.ts";
import { deploymentOf, type EdgeContext, respond, settingsOf } from "../context.ts";
import { PROBLEM_HEADERS, problemResponse } from "../problem-response.ts";
import { forwardRender } from "../requests/forward-render.ts";
import { logFailure, whenClientLeaves } from "../requests/request-log.ts";

export async function answerRender(context: EdgeContext): Promise<Response> {
  const { settings, bodyMemory, uploads, renders } = deploymentOf(context);
  const caller = context.get("caller");
  const { headers } = context.req.raw;
  const head: RequestHead = {
    contentLength: headers.get("Content-Length"),
    contentType: headers.get("Content-Type"),
    contentEncoding: headers.get("Content-Encoding"),
    transferEncoding: headers.get("Transfer-Encoding"),
  };
  const tooLarge = validateDeclaredSize(head, settings.limits);
  if (tooLarge !== null) return problemResponse(context, tooLarge);
  const upload = uploads.acquire(caller);
  if (upload === null) return problemResponse(context, renderQueueFull("uploads", NO_MEMORY_RETRY_SECONDS));
  const render = renders.acquire(caller);
  if (render === null) {
    upload.release();
    return problemResponse(context, renderQueueFull("open_requests", NO_MEMORY_RETRY_SECONDS));
  }
  const longest = longestRenderMilliseconds(settings.bodyTimeoutSeconds, settings.backendTimeoutSeconds);
  const collector = new BodyCollector(declaredSize(head), settings.limits.max_request_body_bytes);
  const reservation = bodyMemory.reserve(caller, longest, () => collector.free());
  const release = () => {
    render.release();
    upload.release();
    reservation.release();
  };
  // When the client disconnects, workerd never resumes the code after the next `await`: no `finally` runs.
  whenClientLeaves(context, release);
  try {
    const refusal = await readBody(
      context.req.raw,
      collector,
      reservation,
      settings.bodyTimeoutSeconds,
      context.get("clock"),
    );
    upload.release();
    context.get("record").endPhase("receive");
    if (refusal === null) return await validateAndForward(context, head, collector, reservation);
    return problemResponse(context, refusal);
  } finally {
    release();
  }
}

async function validateAndForward(
  context: EdgeContext,
  head: RequestHead,
  collector: BodyCollector,
  reservation: BodyReservation,
): Promise<Response> {
  const record = context.get("record");
  const wrongMediaType = validateMediaType(head);
  if (wrongMediaType !== null) return problemResponse(context, wrongMediaType);
  const bytes = collector.finish();
  record.requestBytes = bytes.length;
  const { limits } = settingsOf(context);
  const parsed = parseRenderRequest(bytes, limits);
  record.endPhase("validate");
  if (!parsed.ok) return problemResponse(context, parsed.problem);
  const body = new HeldBody(collector, reservation);
  const answer = await forwardRender(context, body);
  record.endPhase("origin");
  body.release();
  if ("code" in answer) return problemResponse(context, answer);
  const answerBody = describeBody(answer, limits);
  const tooLong = problemOfLength(answerBody, limits);
  if (tooLong === null) return clientResponse(context, answer, answerBody, parsed.request.output);
  await answer.body?.cancel();
  return problemResponse(context, tooLong);
}

/** Only status and bytes are the backend's: the edge decides header fields, file name and the longest length. */
function clientResponse(
  context: EdgeContext,
  response: Response,
  { isFile, length, maxBytes }: AnswerBody,
  output: Output,
): Response {
  const record = context.get("record");
  record.backendTiming = parseServerTiming(response.headers.get(SERVER_TIMING_HEADER));
  if (!isFile) record.problem = problemOf(response);
  const headers = {
    ...(isFile ? fileHeaders(output) : PROBLEM_HEADERS),
    // The runtime sends exactly as many bytes as this field says.
    ...(length !== null && { "Content-Length": String(length) }),
  };
  const { status, body } = response;
  if (body === null || length !== null) return respond(context, body, { status, headers });
  return respond(context, body.pipeThrough(limitLength(context, maxBytes)), { status, headers });
}

/** Passes bytes on, and breaks the answer off where it becomes too long. It keeps nothing. */
function limitLength(context: EdgeContext, maxBytes: number): TransformStream<Uint8Array, Uint8Array> {
  let bytes = 0;
  return new TransformStream({
    transform(chunk, controller) {
      bytes += chunk.length;
      if (bytes <= maxBytes) return controller.enqueue(chunk);
      logFailure(context, "warn", {
        requestId: context.get("requestId"),
        message: "an answer over the limit was cut off",
        origin: context.get("record").backend,
      });
      controller.error(new RangeError("the answer is over its limit"));
    },
  });
}
