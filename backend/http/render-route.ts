/**
 * `POST /v1/render` of a backend in three steps: receive a valid request, render it once it is admitted to a slot, reply.
 * Each request is counted and logged once, at its end.
 */
import type { IncomingMessage, ServerResponse } from "node:http";
import type { FastifyReply, FastifyRequest } from "fastify";
import { validateToken } from "../../protocol/authentication.ts";
import { type BackendLoad, formatBackendLoad } from "../../protocol/backend-load.ts";
import {
  BACKEND_TOKEN_HEADER,
  CALLER_HEADER,
  CALLER_NAME_PATTERN,
  LIMITS_HEADER,
  LOAD_HEADER,
  PATIENCE_HEADER,
  PROBE_CALLER,
} from "../../protocol/headers.ts";
import { SERVER_TIMING_HEADER, serverTiming } from "../../protocol/server-timing.ts";
import { type Limits, limitsFingerprint } from "../../rules/limits.ts";
import { type Problem, renderQueueFull, serviceUnavailable } from "../../rules/problem.ts";
import { parseRenderRequest, type RenderRequest } from "../../rules/render-request.ts";
import { queueDeadlineMilliseconds } from "../../rules/render-time.ts";
import { validateMediaType } from "../../rules/request-head.ts";
import type { ByteBudget, Reservation } from "../admission/byte-budget.ts";
import type { RenderQueue } from "../admission/render-queue.ts";
import type { BackendMetrics, ObservedRender, RequestEnd } from "../observe/metrics.ts";
import { traceParentOf } from "../observe/request-trace.ts";
import type { Tracing } from "../observe/tracing.ts";
import { CLIENT_GONE, notRendered } from "../render/outcome.ts";
import { type PhaseRun, PhaseTimer, phaseSeconds, type RequestPhase } from "../render/phases.ts";
import { type RenderResources, render, type ValidRequest } from "../render/render.ts";
import { timeoutCauseOf } from "../render/timeouts.ts";
import type { Deliveries, Delivery } from "./delivery.ts";
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
  /** Null if no traces are exported. */
  readonly tracing: Tracing | null;
  /** Whether new renders are rejected. */
  readonly isDraining: () => boolean;
  readonly load: () => BackendLoad;
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
  const { settings, metrics, deliveries, tracing } = resources;
  const fingerprint = limitsFingerprint(settings.limits);
  let underWay = 0;
  const handle = async (request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> => {
    underWay++;
    try {
      const startMilliseconds = performance.now();
      compareLimits(request, fingerprint, metrics);
      const sender = senderOf(request, settings.backendTokens);
      const clientGone = clientGoneSignal(request.raw, reply.raw);
      const processed = await receiveAndRender(resources, request, sender, clientGone);
      metrics.observeRender(processed);
      reply.header(LOAD_HEADER, formatBackendLoad(resources.load()));
      const end = await sendReply(request, reply, processed, deliveries);
      const record = requestRecord(sender.caller, processed, end);
      const endMilliseconds = performance.now();
      metrics.countRequest(sender.caller, processed.format, end, (endMilliseconds - startMilliseconds) / 1000);
      request.log.info(logRecord(processed, record), "render");
      if (sender.forbidden === null) {
        const parent = traceParentOf(request.headers);
        const scheme = request.protocol === "https" ? "https" : "http";
        tracing?.record({ ...record, requestId: request.id, scheme, parent, startMilliseconds, endMilliseconds });
      }
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
 * The first two steps. Only this function holds the body, so its memory is free again while the answer is delivered, which may take
 * minutes.
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
    const timer = new PhaseTimer<RequestPhase>();
    const receiving = timer.time("receive", () => receive(resources, request, forbidden, memory));
    const reception = await receiving.catch(failed);
    if (reception.kind !== "received") {
      const requestBytes = reception.kind === "refused" ? reception.requestBytes : undefined;
      return { outcome: reception, format: "none", suggestedName: null, runs: timer.runs, requestBytes };
    }
    const { body, renderRequest } = reception;
    const { format, filename } = renderRequest.output;
    const valid = { body, request: renderRequest, caller };
    const deadline = queueDeadlineMilliseconds(resources.settings, patienceMilliseconds(request));
    const rendering = await renderInSlot(resources, valid, deadline, clientGone).catch((error) => {
      return { outcome: failed(error), runs: [] };
    });
    const runs = [...timer.runs, ...rendering.runs];
    return { ...rendering, runs, format, suggestedName: filename, requestBytes: body.length };
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
  deadlineMilliseconds: number,
  clientGone: AbortSignal,
): Promise<Pick<Processed, "outcome" | "runs" | "peakMemoryBytes">> {
  const applicant = { caller: valid.caller, signal: clientGone, deadlineMilliseconds };
  const startMilliseconds = performance.now();
  const queueRun = (waitedSeconds: number): PhaseRun<RequestPhase> => {
    return { phase: "queue", startMilliseconds, milliseconds: waitedSeconds * 1000 };
  };
  const renderUntil = (stop: AbortSignal) => render(resources, valid, stop);
  const admission =
    valid.caller === PROBE_CALLER
      ? await resources.queue.runIfFree(() => renderUntil(clientGone))
      : await resources.queue.run(applicant, async (withdrawn) => {
          if (withdrawn === null) return renderUntil(clientGone);
          const report = await renderUntil(AbortSignal.any([clientGone, withdrawn]));
          const isWithdrawn = report.outcome.kind === CLIENT_GONE && !clientGone.aborted;
          return isWithdrawn ? null : report;
        });
  switch (admission.kind) {
    case "left":
      return { outcome: notRendered(CLIENT_GONE), runs: [] };
    case "full": {
      const problem = renderQueueFull("No render slot became free in time.", admission.retryAfterSeconds);
      return { outcome: notRendered(problem), runs: [queueRun(admission.waitedSeconds)] };
    }
    case "done": {
      const { outcome, runs, peakMemoryBytes } = admission.result;
      return { outcome, runs: [queueRun(admission.waitedSeconds), ...runs], peakMemoryBytes };
    }
  }
}

/** Step 3: delivers the file, sends the problem, or closes the connection if the client has disconnected. */
async function sendReply(
  request: FastifyRequest,
  reply: FastifyReply,
  { outcome, suggestedName, runs }: Processed,
  deliveries: Deliveries,
): Promise<RequestEnd> {
  const timing = serverTimingOf(runs);
  if (timing !== "") reply.header(SERVER_TIMING_HEADER, timing);
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

/** The phases of the render for `Server-Timing`. Callers do not see `receive`, which is the transfer from the edge. */
function serverTimingOf(runs: Processed["runs"]): string {
  const { receive: _internal, ...phases } = phaseSeconds(runs);
  return serverTiming(Object.fromEntries(Object.entries(phases).map(([phase, seconds]) => [phase, seconds * 1000])));
}

/** What is known about one request at its end, for its log line and its trace. It holds no content. */
function requestRecord(caller: string, processed: Processed, { outcome, delivery }: RequestEnd) {
  const { format, requestBytes, runs } = processed;
  const outputBytes = processed.outcome.kind === "rendered" ? processed.outcome.file.output.size : undefined;
  const timeoutCause = processed.outcome.kind === "refused" ? timeoutCauseOf(processed.outcome.problem) : undefined;
  const deliveryRuns: PhaseRun<RequestPhase>[] = delivery === null ? [] : [deliveryRun(delivery)];
  return { caller, format, outcome, timeoutCause, requestBytes, outputBytes, runs: [...runs, ...deliveryRuns] };
}

function deliveryRun({ startMilliseconds, seconds }: Delivery): PhaseRun<RequestPhase> {
  return { phase: "delivery", startMilliseconds, milliseconds: seconds * 1000 };
}

function logRecord({ peakMemoryBytes }: Processed, { runs, ...record }: ReturnType<typeof requestRecord>) {
  return { ...record, phases: phaseSeconds(runs), peakMemoryBytes };
}

/** Validates the edge's token. The name of a caller is believed only with it. */
function senderOf({ headers }: FastifyRequest, tokens: readonly string[]): Sender {
  const token = headers[BACKEND_TOKEN_HEADER.toLowerCase()];
  const forbidden = validateToken(typeof token === "string" ? token : null, tokens);
  const name = headers[CALLER_HEADER.toLowerCase()];
  const isNamed = forbidden === null && typeof name === "string" && CALLER_NAME_PATTERN.test(name);
  return { caller: isNamed ? name : UNNAMED_CALLER, forbidden };
}

/** How long the edge will still wait for the answer; infinite if it does not say. */
function patienceMilliseconds({ headers }: FastifyRequest): number {
  const text = headers[PATIENCE_HEADER.toLowerCase()];
  return typeof text === "string" && /^[0-9]{1,9}$/.test(text) ? Number(text) : Number.POSITIVE_INFINITY;
}

/** Reports to the operator if the edge has other limits, because edge and backend would then judge the same request differently. */
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
