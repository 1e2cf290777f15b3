/**
 * Spans by the OpenTelemetry SDK, one per request with a child for each run of a phase. A dead collector loses spans.
 */
import { randomUUID } from "node:crypto";
import {
  type Attributes,
  ROOT_CONTEXT,
  SpanKind,
  SpanStatusCode,
  TraceFlags,
  type Tracer,
  trace,
} from "@opentelemetry/api";
import { OTLPTraceExporter } from "@opentelemetry/exporter-trace-otlp-http";
import {
  defaultResource,
  detectResources,
  resourceAttributesEnvDetector,
  resourceFromAttributes,
  serviceNameEnvDetector,
} from "@opentelemetry/resources";
import {
  AlwaysOnSampler,
  BatchSpanProcessor,
  ParentBasedSampler,
  RandomIdGenerator,
  type SpanExporter,
  TracerProvider,
} from "@opentelemetry/sdk-trace";
import project from "../../package.json" with { type: "json" };
import { type TraceParent, traceIdOf } from "../../protocol/trace-context.ts";
import type { CauseFields } from "../../rules/causes.ts";
import type { OutputFormat } from "../../rules/output-options.ts";
import { outcomeClass, PROBLEMS, type RequestOutcome } from "../../rules/problem.ts";
import type { PhaseRun } from "../render/render-time.ts";

/** Spans that are queued or being exported, some 4 MB. Beyond that, new spans are dropped. */
const MAX_PENDING_SPANS = 4096;
const MAX_BATCH_SPANS = 512;
const EXPORT_INTERVAL_MILLISECONDS = 5000;
/** Shorter than a stopping backend waits for its connections to close. */
const SHUTDOWN_MILLISECONDS = 1000;

/** Holds nothing of the request's content. */
export interface TracedRequest extends CauseFields {
  readonly requestId: string;
  readonly scheme: "http" | "https";
  readonly parent: TraceParent | null;
  readonly caller: string;
  readonly format: OutputFormat | "none";
  readonly outcome: RequestOutcome;
  readonly requestBytes: number | undefined;
  readonly outputBytes: number | undefined;
  /** By `performance.now()`. */
  readonly startMilliseconds: number;
  readonly endMilliseconds: number;
  readonly runs: readonly PhaseRun[];
}

export class OtlpTracing {
  readonly #provider: TracerProvider;
  readonly #tracer: Tracer;
  readonly #traceIds = new RequestTraceIds();
  #pendingSpans = 0;
  #lostSpans = 0;
  #isFailing = false;

  /** @param url for OTLP in JSON. The SDK reads fields and time-outs from OpenTelemetry's variables. */
  constructor(url: URL, report: (line: string) => void) {
    const exporter = new OTLPTraceExporter({ url: url.href });
    const observed: SpanExporter = {
      export: (spans, onResult) =>
        exporter.export(spans, (result) => {
          this.#pendingSpans -= spans.length;
          // ExportResultCode.SUCCESS
          const hasFailed = result.code !== 0;
          if (hasFailed) this.#lostSpans += spans.length;
          // Not the error: its message may quote the collector's answer.
          if (hasFailed && !this.#isFailing) report(`Traces cannot be sent to ${url.host}: their spans are dropped.`);
          this.#isFailing = hasFailed;
          onResult(result);
        }),
      shutdown: () => exporter.shutdown(),
    };
    const processor = new BatchSpanProcessor({
      exporter: observed,
      maxQueueSize: MAX_PENDING_SPANS,
      maxExportBatchSize: MAX_BATCH_SPANS,
      scheduledDelayMillis: EXPORT_INTERVAL_MILLISECONDS,
    });
    this.#provider = new TracerProvider({
      resource: resourceOfProcess(),
      sampler: new ParentBasedSampler({ root: new AlwaysOnSampler() }),
      idGenerator: this.#traceIds,
      spanProcessors: [processor],
    });
    this.#tracer = this.#provider.getTracer("document-rendering-service");
  }

  get lostSpans(): number {
    return this.#lostSpans;
  }

  record(request: TracedRequest): void {
    const { parent, requestId, runs } = request;
    this.#traceIds.next = traceIdOf(parent, requestId);
    const root = this.#tracer.startSpan(
      "POST /v1/render",
      {
        kind: SpanKind.SERVER,
        startTime: epochMilliseconds(request.startMilliseconds),
        attributes: attributesOf(request),
      },
      parent === null ? ROOT_CONTEXT : trace.setSpanContext(ROOT_CONTEXT, remoteContext(parent)),
    );
    if (!root.isRecording()) return;
    const count = 1 + runs.length;
    if (this.#pendingSpans + count > MAX_PENDING_SPANS) {
      this.#lostSpans += count;
      return;
    }
    this.#pendingSpans += count;
    const context = trace.setSpan(ROOT_CONTEXT, root);
    for (const { phase, startMilliseconds, milliseconds } of runs) {
      this.#tracer
        .startSpan(phase, { startTime: epochMilliseconds(startMilliseconds) }, context)
        .end(epochMilliseconds(startMilliseconds + milliseconds));
    }
    if (outcomeClass(request.outcome) === "service") root.setStatus({ code: SpanStatusCode.ERROR });
    root.end(epochMilliseconds(request.endMilliseconds));
  }

  async shutdown(): Promise<void> {
    const { promise: late, resolve } = Promise.withResolvers<void>();
    const timer = setTimeout(resolve, SHUTDOWN_MILLISECONDS);
    await Promise.race([this.#provider.shutdown().catch(() => {}), late]);
    clearTimeout(timer);
  }
}

class RequestTraceIds extends RandomIdGenerator {
  next = "";

  override generateTraceId(): string {
    return this.next;
  }
}

function resourceOfProcess() {
  return defaultResource()
    .merge(
      resourceFromAttributes({
        "service.name": "document-rendering-backend",
        "service.version": project.version,
        "service.instance.id": randomUUID(),
      }),
    )
    .merge(detectResources({ detectors: [resourceAttributesEnvDetector, serviceNameEnvDetector] }));
}

function remoteContext({ traceId, parentId, isSampled }: TraceParent) {
  const traceFlags = isSampled ? TraceFlags.SAMPLED : TraceFlags.NONE;
  return { traceId, spanId: parentId, traceFlags, isRemote: true };
}

/** Named as in OpenTelemetry's semantic conventions where these have a name. No value holds text of the request. */
function attributesOf(request: TracedRequest): Attributes {
  const { outcome, requestBytes, outputBytes, timeoutCause, capacityCause, unavailableCause } = request;
  const status = outcome === "ok" || outcome === "client_gone" ? 200 : PROBLEMS[outcome].status;
  return {
    "http.request.method": "POST",
    "http.route": "/v1/render",
    "url.path": "/v1/render",
    "url.scheme": request.scheme,
    ...(outcome !== "client_gone" && { "http.response.status_code": status }),
    ...(requestBytes !== undefined && { "http.request.body.size": requestBytes }),
    ...(outputBytes !== undefined && { "http.response.body.size": outputBytes }),
    "render.request_id": request.requestId,
    "render.caller": request.caller,
    "render.format": request.format,
    "render.outcome": outcome,
    ...(timeoutCause !== undefined && { "render.timeout_cause": timeoutCause }),
    ...(capacityCause !== undefined && { "render.capacity_cause": capacityCause }),
    ...(unavailableCause !== undefined && { "render.unavailable_cause": unavailableCause }),
  };
}

function epochMilliseconds(performanceMilliseconds: number): number {
  return performance.timeOrigin + performanceMilliseconds;
}
