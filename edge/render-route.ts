/**
 * `POST /v1/render` at the edge: validates the request completely, forwards its bytes to a backend and returns the response.
 */

import { validateDeclaredSize } from "../rules/http/declared-size.ts";
import { PROBLEM_CODE_HEADER } from "../rules/http/headers.ts";
import { type RequestHead, validateMediaType } from "../rules/http/request-head.ts";
import { parseServerTiming, SERVER_TIMING_HEADER } from "../rules/http/server-timing.ts";
import { parseRenderRequest } from "../rules/render-request.ts";
import type { Reservation } from "./body-memory.ts";
import { deploymentOf, type EdgeContext, settingsOf } from "./context.ts";
import { HeldBody } from "./held-body.ts";
import { forwardRender } from "./origins/forward-render.ts";
import { problemResponse } from "./problem-response.ts";
import { type BodyReading, readBody, tooManyUploads } from "./read-body.ts";
import { loggedClientSignal } from "./request-log.ts";
import { problemCodeOf, type RequestRecord } from "./request-record.ts";

/** The header fields of a backend's response that go to the client. Others, such as `Connection`, do not. */
const FORWARDED_HEADERS = [
  "Content-Type",
  "Content-Length",
  "Content-Disposition",
  "Cache-Control",
  "Content-Security-Policy",
  "Retry-After",
] as const;

/** How long a reservation outlives the deadlines of its request, to allow for delays in workerd. */
const SLACK_MILLISECONDS = 10_000;

export async function answerRender(context: EdgeContext): Promise<Response> {
  const { settings, bodyMemory, uploads } = deploymentOf(context);
  const { headers } = context.req.raw;
  const head: RequestHead = {
    contentLength: headers.get("Content-Length"),
    contentType: headers.get("Content-Type"),
    contentEncoding: headers.get("Content-Encoding"),
  };
  const tooLarge = validateDeclaredSize(head, settings.limits);
  if (tooLarge !== null) return problemResponse(context, tooLarge);
  const upload = uploads.acquire(context.var.caller);
  if (upload === null) return problemResponse(context, tooManyUploads());
  const longestSeconds = settings.bodyTimeoutSeconds + settings.backendTimeoutSeconds;
  const reservation = bodyMemory.reserve(context.var.caller, longestSeconds * 1000 + SLACK_MILLISECONDS);
  // When the client disconnects, workerd never resumes the code after the next `await`: no `finally` runs.
  loggedClientSignal(context).addEventListener("abort", () => {
    upload.release();
    reservation.release();
  });
  try {
    const bounds = { limits: settings.limits, timeoutSeconds: settings.bodyTimeoutSeconds, reservation };
    const reading = await readBody(context.req.raw, head, bounds);
    upload.release();
    context.var.record.lap("receive");
    return await validateAndForward(context, head, reading, reservation);
  } finally {
    upload.release();
    reservation.release();
  }
}

async function validateAndForward(
  context: EdgeContext,
  head: RequestHead,
  reading: BodyReading,
  reservation: Reservation,
): Promise<Response> {
  const { limits } = settingsOf(context);
  const { record } = context.var;
  if (reading.kind === "problem") return problemResponse(context, reading.problem);
  const { collector } = reading;
  const wrongMediaType = validateMediaType(head);
  if (wrongMediaType !== null) return problemResponse(context, wrongMediaType);
  const bytes = collector.finish();
  record.requestBytes = bytes.length;
  const parsed = parseRenderRequest(bytes, limits);
  record.lap("validate");
  if (!parsed.ok) return problemResponse(context, parsed.problem);
  const body = new HeldBody(collector, reservation);
  const forwarding = await forwardRender(context, body);
  record.lap("origin");
  body.release();
  switch (forwarding.kind) {
    case "answered":
      return clientResponse(forwarding.response, record);
    case "refused":
      return problemResponse(context, forwarding.problem);
  }
}

/** A backend's response as the client gets it. */
function clientResponse(response: Response, record: RequestRecord): Response {
  record.originTiming = parseServerTiming(response.headers.get(SERVER_TIMING_HEADER));
  record.code = problemCodeOf(response.headers.get(PROBLEM_CODE_HEADER)) ?? "ok";
  const headers = new Headers();
  for (const name of FORWARDED_HEADERS) {
    const value = response.headers.get(name);
    if (value !== null) headers.set(name, value);
  }
  return new Response(response.body, { status: response.status, headers });
}
