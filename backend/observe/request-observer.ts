/** What the operator learns of a request when it is received, rendered and delivered: metrics, a log line, a trace. */
import type { IncomingHttpHeaders } from "node:http";
import type { FastifyRequest } from "fastify";
import { LIMITS_HEADER } from "../../protocol/headers.ts";
import { parseTraceparent, TRACEPARENT_HEADER, type TraceParent } from "../../protocol/trace-context.ts";
import { causeFields } from "../../rules/causes.ts";
import { type Limits, limitsFingerprint } from "../../rules/limits.ts";
import { type RequestOutcome, serviceUnavailable } from "../../rules/problem.ts";
import type { RenderOutcome } from "../render/outcome.ts";
import { phaseSeconds } from "../render/render-time.ts";
import type { OtlpTracing } from "./otlp-tracing.ts";
import type { Delivery, RenderMetrics, RequestReport } from "./render-metrics.ts";

interface BegunRequest {
  readonly request: FastifyRequest;
  readonly caller: string;
  readonly isFromEdge: boolean;
  readonly startMilliseconds: number;
}

export class RequestObserver {
  readonly #metrics: RenderMetrics;
  readonly #tracing: OtlpTracing | null;
  readonly #limitsFingerprint: string;

  constructor(limits: Limits, metrics: RenderMetrics, tracing: OtlpTracing | null) {
    this.#limitsFingerprint = limitsFingerprint(limits);
    this.#metrics = metrics;
    this.#tracing = tracing;
  }

  /** @param isFromEdge whether it has the edge's token: the traces of others are not believed */
  beginRequest(request: FastifyRequest, caller: string, isFromEdge: boolean): BegunRequest {
    const edgeLimits = request.headers[LIMITS_HEADER.toLowerCase()] ?? this.#limitsFingerprint;
    // The two would judge the same request differently.
    if (edgeLimits !== this.#limitsFingerprint) {
      this.#metrics.countLimitsMismatch();
      request.log.warn({ limits: this.#limitsFingerprint }, "the edge has other limits than this backend");
    }
    return { request, caller, isFromEdge, startMilliseconds: performance.now() };
  }

  /** The answer is sent, or its client has gone: the request is counted and logged once. */
  endRequest(begun: BegunRequest, report: RequestReport, delivery: Delivery | null): void {
    const { request, caller, isFromEdge, startMilliseconds } = begun;
    const { format, requestBytes, peakMemoryBytes, pdfCheck, outcome: rendering } = report;
    const endMilliseconds = performance.now();
    const outcome = requestOutcome(rendering, delivery);
    const seconds = (endMilliseconds - startMilliseconds) / 1000;
    this.#metrics.countRequest({ caller, format, outcome, delivery, seconds });
    const problem =
      delivery?.end === "failed"
        ? serviceUnavailable("backend_failure")
        : rendering.kind === "refused"
          ? rendering.problem
          : null;
    const record = {
      caller,
      format,
      outcome,
      ...(problem !== null && causeFields(problem)),
      ...(pdfCheck && { pdfCheck }),
      requestBytes,
      outputBytes: rendering.kind === "rendered" ? rendering.file.size : undefined,
    };
    const runs = delivery === null ? report.runs : [...report.runs, delivery.run];
    request.log.info({ ...record, phases: phaseSeconds(runs), peakMemoryBytes }, "render");
    if (this.#tracing === null || !isFromEdge) return;
    const scheme = request.protocol === "https" ? "https" : "http";
    const parent = traceParentOf(request.headers);
    const times = { startMilliseconds, endMilliseconds, runs };
    this.#tracing.record({ ...record, ...times, requestId: request.id, scheme, parent });
  }
}

function requestOutcome(outcome: RenderOutcome, delivery: Delivery | null): RequestOutcome {
  if (outcome.kind === "refused") return outcome.problem.code;
  if (delivery?.end === "failed") return "service_unavailable";
  return delivery?.end === "delivered" ? "ok" : "client_gone";
}

export function traceParentOf(headers: IncomingHttpHeaders): TraceParent | null {
  const text = headers[TRACEPARENT_HEADER];
  return parseTraceparent(typeof text === "string" ? text : null);
}
