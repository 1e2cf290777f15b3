/**
 * `POST /v1/render` of a backend in three steps: receive a valid request, render it once it is admitted to a slot, reply.
 * Each request is counted and logged once, at its end.
 */
import type { IncomingMessage, ServerResponse } from "node:http";
import type { FastifyReply, FastifyRequest } from "fastify";
import { validateToken } from "../../rules/http/authentication.ts";
import { BACKEND_TOKEN_HEADER, CALLER_HEADER, CALLER_NAME_PATTERN, LIMITS_HEADER } from "../../rules/http/headers.ts";
import { validateMediaType } from "../../rules/http/request-head.ts";
import { type Limits, limitsFingerprint } from "../../rules/limits.ts";
import { type Problem, serviceUnavailable } from "../../rules/problem.ts";
import { parseRenderRequest, type RenderRequest } from "../../rules/render-request.ts";
import type { ByteBudget, Reservation } from "../admission/byte-budget.ts";
import type { RenderQueue } from "../admission/render-queue.ts";
import type { BackendMetrics, ObservedRender, RequestEnd } from "../metrics.ts";
import { CLIENT_GONE, notRendered, renderQueueFull } from "../render/outcome.ts";
import { type RenderResources, render, type ValidRequest } from "../render/render.ts";
import { timeoutCauseOf } from "../render/timeouts.ts";
import type { Deliveries } from "./delivery.ts";
import { reportFailure, sendProblem } from "./problem-response.ts";
import { drainBody, readBody, requestHead } from "./read-body.ts";

/** The caller of a request if no edge names one. */
const UNNAMED_CALLER = "unnamed";

/** What all requests of the route share. */
export interface RenderRouteResources extends RenderResources {
  readonly queue: RenderQueue;
  /** The memory of all request bodies, from the first byte to the end of their render. */
  readonly bodyMemory: ByteBudget;
  readonly deliveries: Deliveries;
  readonly metrics: BackendMetrics;
  readonly isDraining: () => boolean;
}

export interface RenderRoute {
  readonly handle: (request: FastifyRequest, reply: FastifyReply) => Promise<FastifyReply>;
  /** The number of requests that have begun and whose answers are not completely delivered. */
  underWay(): number;
}

/** Who sent a request. */
interface Sender {
  readonly caller: string;
  /** Why the request is refused if it does not come from the edge. */
  readonly forbidden: Problem | null;
}

/** How the first step ended. */
type Reception =
  | { readonly kind: "received"; readonly body: Uint8Array; readonly renderRequest: RenderRequest }
  | Refusal
  | { readonly kind: typeof CLIENT_GONE };

interface Refusal {
  readonly kind: "refused";
  readonly problem: Problem;
  /** The size of the body, if all of it was read. */
  readonly requestBytes?: number;
}

/** A request that is ready to be answered. */
interface Processed extends ObservedRender {
  /** The file name that the request asks for, or null. */
  readonly suggestedName: string | null;
  /** The size of the body, if all of it was read. */
  readonly requestBytes?: number | undefined;
}

export function renderRoute(resources: RenderRouteResources): RenderRoute {
  const { settings, metrics, deliveries } = resources;
  const fingerprint = limitsFingerprint(settings.limits);
  let underWay = 0;
  const handle = async (request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> => {
    underWay++;
    try {
      compareLimits(request, fingerprint, metrics);
      const sender = senderOf(request, settings.backendTokens);
      const clientGone = clientGoneSignal(request.raw, reply.raw);
      const processed = await receiveAndRender(resources, request, sender, clientGone);
      metrics.observeRender(processed);
      const end = await sendReply(request, reply, processed, deliveries);
      metrics.countRequest(sender.caller, processed.format, end);
      request.log.info(logRecord(sender.caller, processed, end), "render");
      // If the connection was closed, the reply counts as not sent, and Fastify would call the handler.
      if (!reply.sent) reply.hijack();
      return reply;
    } finally {
      underWay--;
    }
  };
  return { handle, underWay: () => underWay };
}

/**
 * The first two steps. Only this function holds the body, so its memory is free while the answer is delivered, which may
 * take minutes.
 */
async function receiveAndRender(
  resources: RenderRouteResources,
  request: FastifyRequest,
  { caller, forbidden }: Sender,
  clientGone: AbortSignal,
): Promise<Processed> {
  const memory = resources.bodyMemory.open(caller);
  const failed = (error: unknown): Refusal => ({ kind: "refused", problem: reportFailure(request, error) });
  try {
    const reception = await receive(resources, request, forbidden, memory).catch(failed);
    if (reception.kind !== "received") {
      const requestBytes = reception.kind === "refused" ? reception.requestBytes : undefined;
      return { outcome: reception, format: "none", suggestedName: null, phases: {}, requestBytes };
    }
    const { body, renderRequest } = reception;
    const { format, filename } = renderRequest.output;
    const valid = { body, request: renderRequest, caller };
    const rendering = await renderInSlot(resources, valid, clientGone).catch((error) => {
      return { outcome: failed(error), phases: {} };
    });
    return { ...rendering, format, suggestedName: filename, requestBytes: body.length };
  } finally {
    memory.release();
  }
}

/**
 * Step 1: unless the sender is refused, reads the body and validates it. No slot is taken yet.
 *
 * @param memory grows with the body.
 */
async function receive(
  { settings, isDraining }: RenderRouteResources,
  request: FastifyRequest,
  forbidden: Problem | null,
  memory: Reservation,
): Promise<Reception> {
  const problem = forbidden ?? (isDraining() ? serviceUnavailable() : null);
  if (problem !== null) return { kind: "refused", problem };
  const reading = await readBody(request.raw, settings.limits, memory);
  switch (reading.kind) {
    case "aborted":
      return { kind: CLIENT_GONE };
    case "refused":
      return reading;
    case "body":
      return validateBody(request, reading.body, settings.limits);
  }
}

function validateBody(request: FastifyRequest, body: Uint8Array, limits: Limits): Reception {
  const problem = validateMediaType(requestHead(request.raw));
  if (problem !== null) return { kind: "refused", problem };
  const parsed = parseRenderRequest(body, limits);
  if (!parsed.ok) return { kind: "refused", problem: parsed.problem, requestBytes: body.length };
  return { kind: "received", body, renderRequest: parsed.request };
}

/** Step 2: renders a valid request once it has a slot, or returns why it gets none. */
async function renderInSlot(
  resources: RenderRouteResources,
  valid: ValidRequest,
  clientGone: AbortSignal,
): Promise<Pick<Processed, "outcome" | "phases" | "peakMemoryBytes">> {
  const applicant = { caller: valid.caller, signal: clientGone };
  const admission = await resources.queue.run(applicant, () => render(resources, valid, clientGone));
  switch (admission.kind) {
    case "left":
      return { outcome: notRendered(CLIENT_GONE), phases: {} };
    case "full": {
      const problem = renderQueueFull("No render slot became free in time.", admission.retryAfterSeconds);
      return { outcome: notRendered(problem), phases: { queue: admission.waitedSeconds } };
    }
    case "done": {
      const { outcome, phases, peakMemoryBytes } = admission.result;
      return { outcome, phases: { ...phases, queue: admission.waitedSeconds }, peakMemoryBytes };
    }
  }
}

/** Step 3: delivers the file, sends the problem, or closes the connection if the client has disconnected. */
async function sendReply(
  request: FastifyRequest,
  reply: FastifyReply,
  { outcome, suggestedName }: Processed,
  deliveries: Deliveries,
): Promise<RequestEnd> {
  switch (outcome.kind) {
    case "rendered": {
      const delivery = await deliveries.deliver(reply, outcome.file, suggestedName);
      return { outcome: delivery.end === "delivered" ? "ok" : "client_gone", delivery };
    }
    case "refused":
      if (!(await drainBody(request.raw))) reply.header("Connection", "close");
      sendProblem(request, reply, outcome.problem);
      return { outcome: outcome.problem.code, delivery: null };
    case CLIENT_GONE:
      reply.hijack();
      reply.raw.destroy();
      return { outcome: "client_gone", delivery: null };
  }
}

/** What is logged about one request: outcome, sizes and times, but no content. */
function logRecord(caller: string, processed: Processed, { outcome, delivery }: RequestEnd) {
  const { format, requestBytes, peakMemoryBytes, phases } = processed;
  const outputBytes = processed.outcome.kind === "rendered" ? processed.outcome.file.output.size : undefined;
  const timeoutCause = processed.outcome.kind === "refused" ? timeoutCauseOf(processed.outcome.problem) : undefined;
  const allPhases = { ...phases, delivery: delivery?.seconds };
  return { caller, format, outcome, timeoutCause, requestBytes, outputBytes, phases: allPhases, peakMemoryBytes };
}

/** Validates the edge's token. The name of a caller is believed only with it. */
function senderOf({ headers }: FastifyRequest, tokens: readonly string[]): Sender {
  const token = headers[BACKEND_TOKEN_HEADER.toLowerCase()];
  const forbidden = validateToken(typeof token === "string" ? token : null, tokens);
  const name = headers[CALLER_HEADER.toLowerCase()];
  const isNamed = forbidden === null && typeof name === "string" && CALLER_NAME_PATTERN.test(name);
  return { caller: isNamed ? name : UNNAMED_CALLER, forbidden };
}

/** Reports to the operator if the edge's limits differ: edge and backend would then answer the same request differently. */
function compareLimits(request: FastifyRequest, fingerprint: string, metrics: BackendMetrics): void {
  const edgeLimits = request.headers[LIMITS_HEADER.toLowerCase()];
  if (edgeLimits === undefined || edgeLimits === fingerprint) return;
  metrics.countLimitsMismatch();
  request.log.warn({ limits: fingerprint }, "the edge has other limits than this backend");
}

/** Aborted when the connection closes before the answer is complete. */
function clientGoneSignal({ socket }: IncomingMessage, response: ServerResponse): AbortSignal {
  const gone = new AbortController();
  const abort = () => gone.abort();
  // A response that waits behind another on the same connection does not notice that the connection has closed.
  socket.once("close", abort);
  response.once("close", () => {
    socket.off("close", abort);
    if (!response.writableFinished) gone.abort();
  });
  return gone.signal;
}
