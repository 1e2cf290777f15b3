/**
 * `POST /v1/render` of a backend in three steps: receive a valid request, render it once it is admitted to a slot, reply.
 * Each request is counted and logged once, at its end.
 */
import type { IncomingMessage, ServerResponse } from "node:http";
import type { FastifyReply, FastifyRequest } from "fastify";
import { CALLER_HEADER, CALLER_NAME_PATTERN, LIMITS_HEADER } from "../../rules/http/headers.ts";
import { limitsFingerprint } from "../../rules/limits.ts";
import type { ByteBudget } from "../admission/byte-budget.ts";
import type { RenderQueue } from "../admission/render-queue.ts";
import type { BackendMetrics, ObservedRender, RequestEnd } from "../metrics.ts";
import { CLIENT_GONE, notRendered, renderQueueFull } from "../render/outcome.ts";
import { type RenderResources, render, type ValidRequest } from "../render/render.ts";
import type { Deliveries } from "./delivery.ts";
import { reportFailure } from "./problem-response.ts";
import { type Refusal, receive } from "./receive.ts";
import { sendReply } from "./reply.ts";

/** The caller of a request whose edge names none. */
const UNNAMED_CALLER = "unnamed";

/** What all requests of the route share. */
export interface RenderRouteResources extends RenderResources {
  readonly queue: RenderQueue;
  /** The memory of all request bodies: while they are read, wait and are rendered. */
  readonly bodyMemory: ByteBudget;
  readonly deliveries: Deliveries;
  readonly metrics: BackendMetrics;
  readonly isDraining: () => boolean;
}

export interface RenderRoute {
  readonly handle: (request: FastifyRequest, reply: FastifyReply) => Promise<FastifyReply>;
  /** Requests that have begun and are not over: a request is over when its answer is with the client. */
  underWay(): number;
}

/** A request that is ready to be answered. */
interface Processed extends ObservedRender {
  readonly suggestedName: string | null;
  /** Undefined where not all of the body was read. */
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
      const caller = callerOf(request);
      const clientGone = clientGoneSignal(request.raw, reply.raw);
      const processed = await receiveAndRender(resources, request, caller, clientGone);
      metrics.observeRender(processed);
      const sent = await sendReply(request, reply, processed.outcome, processed.suggestedName, deliveries);
      metrics.countRequest(processed.format, sent);
      request.log.info(logRecord(caller, processed, sent), "render");
      // A reply whose connection was closed counts as not sent: Fastify would go on to the handler.
      if (!reply.sent) reply.hijack();
      return reply;
    } finally {
      underWay--;
    }
  };
  return { handle, underWay: () => underWay };
}

/**
 * Receives a request and renders it. Only this function holds the body, so that its memory is free while the answer is
 * delivered, which may take minutes.
 */
async function receiveAndRender(
  resources: RenderRouteResources,
  request: FastifyRequest,
  caller: string,
  clientGone: AbortSignal,
): Promise<Processed> {
  const memory = resources.bodyMemory.open(caller);
  const failed = (error: unknown): Refusal => ({ kind: "refused", problem: reportFailure(request, error) });
  try {
    const reception = await receive(request, resources.settings, resources.isDraining(), memory).catch(failed);
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

/** Renders a valid request once it has a slot, or says why it gets none. */
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

/** What is logged of one request: outcome, sizes and times, and nothing of its content. */
function logRecord(caller: string, processed: Processed, { outcome, delivery }: RequestEnd) {
  const { format, requestBytes, peakMemoryBytes, phases } = processed;
  const outputBytes = processed.outcome.kind === "rendered" ? processed.outcome.file.output.size : undefined;
  const allPhases = { ...phases, delivery: delivery?.seconds };
  return { caller, format, outcome, requestBytes, outputBytes, phases: allPhases, peakMemoryBytes };
}

/** The caller of a request, as the edge names it. */
function callerOf({ headers }: FastifyRequest): string {
  const name = headers[CALLER_HEADER.toLowerCase()];
  return typeof name === "string" && CALLER_NAME_PATTERN.test(name) ? name : UNNAMED_CALLER;
}

/** The edge validates by its own limits. Where they differ, the same request is answered in two ways: the operator must know. */
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
  // A response that waits behind another on its connection does not notice that the connection has closed.
  socket.once("close", abort);
  response.once("close", () => {
    socket.off("close", abort);
    if (!response.writableFinished) gone.abort();
  });
  return gone.signal;
}
