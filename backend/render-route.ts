/**
 * `POST /v1/render` of the backend: judge, wait for a slot, render, answer, and count the request once.
 */
import type { ServerResponse } from "node:http";
import { create as contentDisposition } from "content-disposition";
import type { FastifyReply, FastifyRequest } from "fastify";
import { limitsFingerprint } from "../rules/limits.ts";
import type { OutputFormat } from "../rules/output-options.ts";
import { type Problem, problem, serviceUnavailable } from "../rules/problem.ts";
import { parseRenderRequest } from "../rules/render-request.ts";
import { judgeMediaType } from "../rules/request-head.ts";
import { LIMITS_HEADER, NOT_STORED_HEADERS } from "../rules/service-headers.ts";
import { BACKEND_TOKEN_HEADER, judgeToken } from "../rules/token.ts";
import { type Extension, safeFileName } from "./file-name.ts";
import type { BackendMetrics, RequestOutcome } from "./metrics.ts";
import { sendProblem } from "./problem-reply.ts";
import { projectBytes } from "./project.ts";
import { type PhaseSeconds, type RenderedFile, type RenderMeasures, render } from "./render.ts";
import type { RenderQueue } from "./render-queue.ts";
import { readBody, requestHead } from "./request-body.ts";
import type { BackendSettings } from "./settings.ts";
import type { TempSpace } from "./temp-space.ts";
import { isArchive } from "./typst-command.ts";
import type { TypstStarter } from "./typst-starter.ts";

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

/** What the route stands on. */
export interface RenderRouteParts {
  readonly settings: BackendSettings;
  readonly starter: TypstStarter;
  readonly tempSpace: TempSpace;
  readonly queue: RenderQueue;
  readonly metrics: BackendMetrics;
  readonly isDraining: () => boolean;
}

/** What is counted and logged of one render request: outcome, sizes and times, and nothing of the caller's. */
interface RenderRecord {
  readonly format: OutputFormat | "none";
  readonly outcome: RequestOutcome;
  readonly requestBytes?: number;
  readonly outputBytes?: number;
  readonly phases?: PhaseSeconds & { queue?: number };
  readonly peakMemoryBytes?: number | null;
}

/** The handler of the route. */
export function renderRoute(parts: RenderRouteParts) {
  const fingerprint = limitsFingerprint(parts.settings.limits);
  return async (request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> => {
    const record = await answer(parts, fingerprint, request, reply).catch((error: unknown) => {
      parts.metrics.countRequest("none", "service_unavailable");
      throw error;
    });
    parts.metrics.countRequest(record.format, record.outcome);
    request.log.info(record, "render");
    return reply;
  };
}

async function answer(
  parts: RenderRouteParts,
  fingerprint: string,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<RenderRecord> {
  const { settings, starter, tempSpace, queue, metrics } = parts;
  const refuse = (refusal: Problem, known: Partial<RenderRecord> = {}): RenderRecord => {
    sendProblem(request, reply, refusal);
    return { format: "none", ...known, outcome: refusal.code };
  };
  const token = request.headers[BACKEND_TOKEN_HEADER.toLowerCase()];
  const forbidden = judgeToken(typeof token === "string" ? token : null, settings.backendTokens);
  if (forbidden !== null) return refuse(forbidden);
  compareLimits(request, fingerprint, metrics);
  if (parts.isDraining()) return refuse(serviceUnavailable());

  const clientGone = clientGoneSignal(reply.raw);
  const reading = await readBody(request.raw, settings.limits);
  if (reading.kind === "aborted") return abandon(reply, { format: "none" });
  if (reading.kind === "refused") {
    // The rest of the body is not read, so the connection cannot be used again.
    reply.header("Connection", "close");
    return refuse(reading.problem);
  }
  const { body } = reading;
  const wrongMediaType = judgeMediaType(requestHead(request.raw));
  if (wrongMediaType !== null) return refuse(wrongMediaType);
  const judgement = parseRenderRequest(body, settings.limits);
  if (!judgement.ok) return refuse(judgement.problem, { requestBytes: body.length });

  const { output } = judgement.request;
  const phases: PhaseSeconds & { queue?: number } = {};
  const measures: RenderMeasures = { phases, peakMemoryBytes: null };
  const known = () => ({ format: output.format, requestBytes: body.length, ...measures });
  const judged = { body, request: judgement.request };
  const tempBytes = projectBytes(judgement.request) + (isArchive(output) ? settings.limits.max_output_bytes : 0);
  const admission = await queue.run(clientGone, body.length, () =>
    tempSpace.withReserved(tempBytes, () => render(settings, starter, judged, clientGone, measures)),
  );
  if (admission.kind === "left") return abandon(reply, known());
  if (admission.kind === "full") return refuse(queueFull(admission.retryAfterSeconds), known());
  phases.queue = admission.waitedSeconds;
  metrics.observePhases(phases);
  if (measures.peakMemoryBytes !== null) metrics.observePeakMemory(output.format, measures.peakMemoryBytes);
  const outcome = admission.result;
  switch (outcome.kind) {
    case "client-gone":
      return abandon(reply, known());
    case "refused":
      return refuse(outcome.problem, known());
    case "rendered":
      metrics.observeOutput(output.format, outcome.file.bytes.length);
      sendFile(reply, outcome.file, output.filename);
      return { ...known(), outcome: "ok", outputBytes: outcome.file.bytes.length };
  }
}

/** The edge judges by its own limits: where they differ from these, clients see two verdicts, so somebody must hear. */
function compareLimits(request: FastifyRequest, fingerprint: string, metrics: BackendMetrics): void {
  const edgeLimits = request.headers[LIMITS_HEADER.toLowerCase()];
  if (edgeLimits === undefined || edgeLimits === fingerprint) return;
  metrics.countLimitsMismatch();
  request.log.warn({ limits: fingerprint }, "the edge has other limits than this backend");
}

/** Nobody is there to answer. */
function abandon<Known extends { format: RenderRecord["format"] }>(reply: FastifyReply, known: Known): RenderRecord {
  reply.hijack();
  reply.raw.destroy();
  return { ...known, outcome: "client_gone" };
}

/** Aborted when the connection closes before the answer is complete. */
function clientGoneSignal(response: ServerResponse): AbortSignal {
  const gone = new AbortController();
  response.once("close", () => {
    if (!response.writableFinished) gone.abort();
  });
  return gone.signal;
}

function sendFile(reply: FastifyReply, { bytes, extension }: RenderedFile, suggestedName: string | null): void {
  const name = safeFileName(suggestedName, extension);
  const type = extension === "zip" ? "attachment" : "inline";
  reply
    .headers({
      ...NOT_STORED_HEADERS,
      ...(extension === "svg" && SVG_HEADERS),
      "Content-Type": CONTENT_TYPES[extension],
      "Content-Disposition": contentDisposition(name, { type }),
    })
    .send(bytes);
}

function queueFull(retryAfterSeconds: number): Problem {
  const detail = `No render slot became free in time. Try again in ${retryAfterSeconds} seconds.`;
  return problem("render_queue_full", detail, { retry_after: retryAfterSeconds });
}
