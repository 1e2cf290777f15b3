/**
 * `POST /v1/render` of the backend: receive a valid request, render it in a slot, deliver the output or report a problem,
 * and count the request once.
 */
import type { IncomingMessage, ServerResponse } from "node:http";
import type { FastifyReply, FastifyRequest } from "fastify";
import { validateToken } from "../../rules/http/authentication.ts";
import {
  BACKEND_TOKEN_HEADER,
  CALLER_HEADER,
  CALLER_NAME_PATTERN,
  LIMITS_HEADER,
  NOT_STORED_HEADERS,
} from "../../rules/http/headers.ts";
import { validateMediaType } from "../../rules/http/request-head.ts";
import { limitsFingerprint } from "../../rules/limits.ts";
import type { OutputFormat } from "../../rules/output-options.ts";
import { type Problem, serviceUnavailable } from "../../rules/problem.ts";
import { parseRenderRequest } from "../../rules/render-request.ts";
import type { ByteBudget, Reservation } from "../admission/byte-budget.ts";
import type { RenderQueue } from "../admission/render-queue.ts";
import type { BackendMetrics, RequestOutcome } from "../metrics.ts";
import { CLIENT_GONE, renderQueueFull } from "../render/outcome.ts";
import {
  type PhaseSeconds,
  type RenderedFile,
  type RenderParts,
  type RenderReport,
  render,
  type ValidRequest,
} from "../render/render.ts";
import type { Deliveries } from "./delivery.ts";
import { contentDisposition, type Extension } from "./file-name.ts";
import { reportFailure, sendProblem } from "./problem-reply.ts";
import { drainBody, readBody, requestHead } from "./read-body.ts";

const CONTENT_TYPES = {
  pdf: "application/pdf",
  png: "image/png",
  svg: "image/svg+xml",
  zip: "application/zip",
} as const satisfies Record<Extension, string>;

/** An SVG opened on its own runs nothing and loads nothing, whatever the document has put into it. */
const SVG_HEADERS = {
  "Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'; img-src data:; font-src data:; sandbox",
} as const;

/** The caller of a request whose edge names none. */
const UNNAMED_CALLER = "unnamed";

/** What the route stands on. */
export interface RenderRouteParts extends RenderParts {
  readonly queue: RenderQueue;
  /** The memory of all request bodies: while they are read, wait and are rendered. */
  readonly bodyMemory: ByteBudget;
  readonly deliveries: Deliveries;
  readonly metrics: BackendMetrics;
  readonly isDraining: () => boolean;
}

/** What is counted and logged of one render request: outcome, sizes and times, and nothing of its content. */
interface RenderRecord {
  readonly caller: string;
  readonly format: OutputFormat | "none";
  readonly outcome: RequestOutcome;
  readonly requestBytes?: number;
  readonly outputBytes?: number;
  readonly phases?: PhaseSeconds & { readonly queue?: number; readonly delivery?: number };
  readonly peakMemoryBytes?: number | null;
}

/** What is known of a request before it is answered. */
type KnownOfRequest = Omit<RenderRecord, "outcome">;

/** How a request is to be answered. */
type Verdict =
  | { readonly kind: "rendered"; readonly file: RenderedFile; readonly suggestedName: string | null }
  | { readonly kind: "refused"; readonly problem: Problem }
  | { readonly kind: typeof CLIENT_GONE };

interface KnownVerdict {
  readonly verdict: Verdict;
  readonly known: KnownOfRequest;
}

type Reception =
  | { readonly kind: "received"; readonly valid: ValidRequest }
  | (KnownVerdict & { readonly kind: "ended" });

export interface RenderRoute {
  readonly handle: (request: FastifyRequest, reply: FastifyReply) => Promise<FastifyReply>;
  /** Requests that have begun and are not over: a request is over when its answer is with the client. */
  underWay(): number;
}

export function renderRoute(parts: RenderRouteParts): RenderRoute {
  const fingerprint = limitsFingerprint(parts.settings.limits);
  let underWay = 0;
  const handle = async (request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> => {
    underWay++;
    try {
      const clientGone = clientGoneSignal(request.raw, reply.raw);
      compareLimits(request, fingerprint, parts.metrics);
      // In a function of its own, so that the body is not held while the answer is delivered.
      const verdict = await receiveAndRender(parts, request, clientGone);
      const record = await answer(parts, request, reply, verdict);
      parts.metrics.countRequest(record.format, record.outcome);
      request.log.info(record, "render");
      // A reply whose connection was closed counts as not sent: Fastify would go on to the handler.
      if (!reply.sent) reply.hijack();
      return reply;
    } finally {
      underWay--;
    }
  };
  return { handle, underWay: () => underWay };
}

async function receiveAndRender(
  parts: RenderRouteParts,
  request: FastifyRequest,
  clientGone: AbortSignal,
): Promise<KnownVerdict> {
  const caller = callerOf(request);
  const memory = parts.bodyMemory.open(caller);
  let known: KnownOfRequest = { caller, format: "none" };
  try {
    const reception = await receive(parts, request, memory, known);
    if (reception.kind === "ended") return reception;
    const { body, request: renderRequest } = reception.valid;
    known = { caller, format: renderRequest.output.format, requestBytes: body.length };
    return await renderInSlot(parts, reception.valid, clientGone, known);
  } catch (error) {
    return { verdict: { kind: "refused", problem: reportFailure(request, error) }, known };
  } finally {
    memory.release();
  }
}

/** Reads and validates the request: token, then body, then what is in it. */
async function receive(
  { settings, isDraining }: RenderRouteParts,
  request: FastifyRequest,
  memory: Reservation,
  known: KnownOfRequest,
): Promise<Reception> {
  const ended = (verdict: Verdict, requestBytes?: number): Reception => {
    return { kind: "ended", verdict, known: requestBytes === undefined ? known : { ...known, requestBytes } };
  };
  const token = request.headers[BACKEND_TOKEN_HEADER.toLowerCase()];
  const forbidden = validateToken(typeof token === "string" ? token : null, settings.backendTokens);
  if (forbidden !== null) return ended({ kind: "refused", problem: forbidden });
  if (isDraining()) return ended({ kind: "refused", problem: serviceUnavailable() });
  const reading = await readBody(request.raw, settings.limits, memory);
  if (reading.kind === "aborted") return ended({ kind: CLIENT_GONE });
  if (reading.kind === "refused") return ended(reading);
  const { body } = reading;
  const wrongMediaType = validateMediaType(requestHead(request.raw));
  if (wrongMediaType !== null) return ended({ kind: "refused", problem: wrongMediaType });
  const validation = parseRenderRequest(body, settings.limits);
  if (!validation.ok) return ended({ kind: "refused", problem: validation.problem }, body.length);
  return { kind: "received", valid: { body, request: validation.request, caller: known.caller } };
}

/** Renders a valid request once it has a slot. */
async function renderInSlot(
  parts: RenderRouteParts,
  valid: ValidRequest,
  clientGone: AbortSignal,
  known: KnownOfRequest,
): Promise<KnownVerdict> {
  const applicant = { caller: valid.caller, signal: clientGone };
  const admission = await parts.queue.run(applicant, () => render(parts, valid, clientGone));
  switch (admission.kind) {
    case "left":
      return { verdict: { kind: CLIENT_GONE }, known };
    case "full": {
      const problem = renderQueueFull("No render slot became free in time.", admission.retryAfterSeconds);
      return { verdict: { kind: "refused", problem }, known: { ...known, phases: { queue: admission.waitedSeconds } } };
    }
    case "done": {
      const { phases, peakMemoryBytes, outcome }: RenderReport = admission.result;
      const measured = { ...known, phases: { ...phases, queue: admission.waitedSeconds }, peakMemoryBytes };
      if (outcome.kind !== "rendered") return { verdict: outcome, known: measured };
      const suggestedName = valid.request.output.filename;
      return { verdict: { ...outcome, suggestedName }, known: measured };
    }
  }
}

/** Delivers the output or the problem; what is measured goes into the metrics here. */
async function answer(
  parts: RenderRouteParts,
  request: FastifyRequest,
  reply: FastifyReply,
  { verdict, known }: KnownVerdict,
): Promise<RenderRecord> {
  const { metrics } = parts;
  if (known.format !== "none" && known.peakMemoryBytes) metrics.observePeakMemory(known.format, known.peakMemoryBytes);
  switch (verdict.kind) {
    case CLIENT_GONE:
      metrics.observePhases(known.phases ?? {});
      reply.hijack();
      reply.raw.destroy();
      return { ...known, outcome: "client_gone" };
    case "refused":
      metrics.observePhases(known.phases ?? {});
      if (!(await drainBody(request.raw))) reply.header("Connection", "close");
      sendProblem(request, reply, verdict.problem);
      return { ...known, outcome: verdict.problem.code };
    case "rendered":
      try {
        return await deliver(parts, reply, verdict, known);
      } finally {
        await verdict.file.output.close();
      }
  }
}

async function deliver(
  { metrics, deliveries }: RenderRouteParts,
  reply: FastifyReply,
  { file, suggestedName }: Extract<Verdict, { kind: "rendered" }>,
  known: KnownOfRequest,
): Promise<RenderRecord> {
  const outputBytes = file.output.size;
  if (known.format !== "none") metrics.observeOutput(known.format, outputBytes);
  setFileHeaders(reply, file.extension, suggestedName);
  const started = performance.now();
  const end = await deliveries.deliver(reply, file.output);
  const phases = { ...known.phases, delivery: (performance.now() - started) / 1000 };
  metrics.observePhases(phases);
  metrics.countDelivery(end);
  return { ...known, phases, outputBytes, outcome: end === "delivered" ? "ok" : "client_gone" };
}

/** Whose request it is, as the edge says. */
function callerOf({ headers }: FastifyRequest): string {
  const name = headers[CALLER_HEADER.toLowerCase()];
  return typeof name === "string" && CALLER_NAME_PATTERN.test(name) ? name : UNNAMED_CALLER;
}

/** The edge validates by its own limits: where they differ from these, clients see two verdicts, so somebody must hear. */
function compareLimits(request: FastifyRequest, fingerprint: string, metrics: BackendMetrics): void {
  const edgeLimits = request.headers[LIMITS_HEADER.toLowerCase()];
  if (edgeLimits === undefined || edgeLimits === fingerprint) return;
  metrics.countLimitsMismatch();
  request.log.warn({ limits: fingerprint }, "the edge has other limits than this backend");
}

/** Aborted when the connection closes before the answer is complete. */
function clientGoneSignal({ socket }: IncomingMessage, response: ServerResponse): AbortSignal {
  const gone = new AbortController();
  // A response that waits behind another on its connection does not hear of the connection's end.
  const abort = () => gone.abort();
  socket.once("close", abort);
  response.once("close", () => {
    socket.off("close", abort);
    if (!response.writableFinished) gone.abort();
  });
  return gone.signal;
}

function setFileHeaders(reply: FastifyReply, extension: Extension, suggestedName: string | null): void {
  reply.headers({
    ...NOT_STORED_HEADERS,
    ...(extension === "svg" && SVG_HEADERS),
    "Content-Type": CONTENT_TYPES[extension],
    "Content-Disposition": contentDisposition(suggestedName, extension),
  });
}
