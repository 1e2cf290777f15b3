/**
 * `POST /v1/render` at the edge: validates the request completely, forwards its bytes to a backend and returns the response.
 */

import type { BodyCollector } from "../rules/http/body-collector.ts";
import { validateDeclaredSize } from "../rules/http/declared-size.ts";
import { type RequestHead, validateMediaType } from "../rules/http/request-head.ts";
import { parseRenderRequest } from "../rules/render-request.ts";
import type { Reservation } from "./body-memory.ts";
import { clientResponse } from "./client-response.ts";
import { deploymentOf, type EdgeContext, settingsOf } from "./context.ts";
import { HeldBody } from "./held-body.ts";
import { forwardRender } from "./origins/forward-render.ts";
import { problemResponse } from "./problem-response.ts";
import { readBody, SLACK_MILLISECONDS, tooManyUploads } from "./read-body.ts";
import { loggedClientSignal } from "./request-log.ts";

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
