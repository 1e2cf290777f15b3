/**
 * `POST /v1/render` at the edge: validates the request completely, forwards its bytes to a backend and returns the response.
 */
import type { BodyCollector } from "../../protocol/body-collector.ts";
import { validateDeclaredSize } from "../../rules/declared-size.ts";
import { parseRenderRequest } from "../../rules/render-request.ts";
import { type RequestHead, validateMediaType } from "../../rules/request-head.ts";
import { forwardRender } from "../backends/forward-render.ts";
import type { Reservation } from "../body/body-memory.ts";
import { HeldBody } from "../body/held-body.ts";
import { readBody, SLACK_MILLISECONDS, tooManyUploads } from "../body/read-body.ts";
import { deploymentOf, type EdgeContext, settingsOf } from "../context.ts";
import { loggedClientSignal } from "../log/request-log.ts";
import { problemResponse } from "../problem-response.ts";
import { clientResponse } from "./client-response.ts";

export async function answerRender(context: EdgeContext): Promise<Response> {
  const { settings, bodyMemory, uploads } = deploymentOf(context);
  const { headers } = context.req.raw;
  const head: RequestHead = {
    contentLength: headers.get("Content-Length"),
    contentType: headers.get("Content-Type"),
    contentEncoding: headers.get("Content-Encoding"),
    transferEncoding: headers.get("Transfer-Encoding"),
  };
  const tooLarge = validateDeclaredSize(head, settings.limits);
  if (tooLarge !== null) return problemResponse(context, tooLarge);
  const upload = uploads.acquire(context.var.caller);
  if (upload === null) return problemResponse(context, tooManyUploads());
  const longestSeconds = settings.bodyTimeoutSeconds + settings.backendTimeoutSeconds;
  const reservation = bodyMemory.reserve(context.var.caller, longestSeconds * 1000 + SLACK_MILLISECONDS);
  const release = () => {
    upload.release();
    reservation.release();
  };
  // When the client disconnects, workerd never resumes the code after the next `await`: no `finally` runs.
  loggedClientSignal(context).addEventListener("abort", release);
  try {
    const bounds = { limits: settings.limits, timeoutSeconds: settings.bodyTimeoutSeconds, reservation };
    const reading = await readBody(context.req.raw, head, bounds);
    upload.release();
    context.var.record.lap("receive");
    if (reading.kind === "problem") return problemResponse(context, reading.problem);
    return await validateAndForward(context, head, reading.collector, reservation);
  } finally {
    release();
  }
}

async function validateAndForward(
  context: EdgeContext,
  head: RequestHead,
  collector: BodyCollector,
  reservation: Reservation,
): Promise<Response> {
  const { record } = context.var;
  const wrongMediaType = validateMediaType(head);
  if (wrongMediaType !== null) return problemResponse(context, wrongMediaType);
  const bytes = collector.finish();
  record.requestBytes = bytes.length;
  const parsed = parseRenderRequest(bytes, settingsOf(context).limits);
  record.lap("validate");
  if (!parsed.ok) return problemResponse(context, parsed.problem);
  const { filename } = parsed.request.output;
  const body = new HeldBody(collector, reservation);
  const forwarding = await forwardRender(context, body);
  record.lap("origin");
  body.release();
  switch (forwarding.kind) {
    case "answered":
      return clientResponse(context, forwarding.response, filename);
    case "refused":
      return problemResponse(context, forwarding.problem);
  }
}
