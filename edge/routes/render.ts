/** `POST /v1/render` at the edge: validates the request completely, and forwards its bytes to a backend. */
import { BodyCollector, NO_MEMORY_RETRY_SECONDS } from "../../protocol/body-collector.ts";
import { parseServerTiming, SERVER_TIMING_HEADER } from "../../protocol/headers.ts";
import { PROBLEM_HEADERS } from "../../protocol/problem-answer.ts";
import { fileHeaders } from "../../protocol/rendered-file.ts";
import type { Output } from "../../rules/output-options.ts";
import { renderQueueFull, TIMEOUT_RETRY_SECONDS } from "../../rules/problem.ts";
import { parseRenderRequest } from "../../rules/render-request.ts";
import { declaredSize, type RequestHead, validateDeclaredSize, validateMediaType } from "../../rules/request-head.ts";
import { type AnswerBody, describeBody, problemOf, problemOfLength } from "../backends/backend-answer.ts";
import type { BodyReservation } from "../body/body-memory.ts";
import { longestRenderMilliseconds, readBody } from "../body/read-body.ts";
import { deploymentOf, type EdgeContext, settingsOf } from "../context.ts";
import type { Answer, BackendAnswer } from "../platform/platform.ts";
import { problemAnswer } from "../problem-answer.ts";
import { forwardRender } from "../requests/forward-render.ts";
import { logFailure, whenClientLeaves } from "../requests/request-log.ts";

export async function answerRender(context: EdgeContext): Promise<Answer> {
  const { settings, bodyMemory, uploads, renders } = deploymentOf(context);
  const caller = context.caller ?? "";
  const { headers } = context.request;
  const head: RequestHead = {
    contentLength: headers.get("Content-Length"),
    contentType: headers.get("Content-Type"),
    contentEncoding: headers.get("Content-Encoding"),
    transferEncoding: headers.get("Transfer-Encoding"),
  };
  const tooLarge = validateDeclaredSize(head, settings.limits);
  if (tooLarge !== null) return problemAnswer(context, tooLarge);
  const upload = uploads.acquire(caller);
  if (upload === null) return problemAnswer(context, renderQueueFull("uploads", NO_MEMORY_RETRY_SECONDS));
  const render = renders.acquire(caller);
  if (render === null) {
    upload.release();
    return problemAnswer(context, renderQueueFull("open_requests", NO_MEMORY_RETRY_SECONDS));
  }
  const longest = longestRenderMilliseconds(settings.bodyTimeoutSeconds, settings.backendTimeoutSeconds);
  const collector = new BodyCollector(declaredSize(head), settings.limits.max_request_body_bytes);
  const reservation = bodyMemory.reserve(caller, longest, collector);
  const release = () => {
    render.release();
    upload.release();
    reservation.release();
  };
  // When the client disconnects, workerd never resumes the code after the next `await`: no `finally` runs.
  whenClientLeaves(context, release);
  try {
    const refusal = await readBody(context.request, collector, reservation, settings.bodyTimeoutSeconds, context.clock);
    upload.release();
    context.record.endPhase("receive");
    if (refusal === null) return await validateAndForward(context, head, collector, reservation);
    return problemAnswer(context, refusal);
  } finally {
    release();
  }
}

async function validateAndForward(
  context: EdgeContext,
  head: RequestHead,
  collector: BodyCollector,
  reservation: BodyReservation,
): Promise<Answer> {
  const record = context.record;
  const wrongMediaType = validateMediaType(head);
  if (wrongMediaType !== null) return problemAnswer(context, wrongMediaType);
  const bytes = collector.finish();
  record.requestBytes = bytes.length;
  const { limits } = settingsOf(context);
  const parsed = parseRenderRequest(bytes, limits);
  record.endPhase("validate");
  if (!parsed.ok) return problemAnswer(context, parsed.problem);
  const answer = await forwardRender(context, reservation);
  record.endPhase("origin");
  reservation.release();
  if ("code" in answer) return problemAnswer(context, answer);
  const answerBody = describeBody(answer, limits);
  const tooLong = problemOfLength(answerBody, limits);
  if (tooLong === null) return clientResponse(context, answer, answerBody, parsed.request.output);
  answer.body?.discard();
  return problemAnswer(context, tooLong);
}

/** Only status and bytes are the backend's: the edge decides header fields, file name and the longest length. */
function clientResponse(
  context: EdgeContext,
  answer: BackendAnswer,
  { isFile, length, maxBytes }: AnswerBody,
  output: Output,
): Answer {
  const { record } = context;
  record.backendTiming = parseServerTiming(answer.headers.get(SERVER_TIMING_HEADER));
  if (!isFile) record.problem = problemOf(answer);
  const headers = {
    ...(isFile ? fileHeaders(output) : PROBLEM_HEADERS),
    ...(record.problem?.code === "render_timeout" && { "Retry-After": String(TIMEOUT_RETRY_SECONDS) }),
    // The runtime sends exactly as many bytes as this field says.
    ...(length !== null && { "Content-Length": String(length) }),
  };
  const { status, body } = answer;
  if (body === null || length !== null) return { status, headers, body };
  // Broken off where it becomes too long. Nothing of it is kept.
  const report = () =>
    logFailure(context, "warn", {
      message: "an answer over the limit was cut off",
      origin: record.backend,
    });
  return { status, headers, body: body.limitTo(maxBytes, report) };
}
