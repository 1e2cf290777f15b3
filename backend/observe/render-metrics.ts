/** What is counted of render requests: base units in the names, labels from closed or bounded sets. */
import { Counter, collectDefaultMetrics, Histogram, Registry } from "prom-client";
import { EDGE_COUNTERS, EDGE_COUNTS, parseEdgeReport, REFUSAL_CODES } from "../../protocol/edge-counts.ts";
import { CAUSES } from "../../rules/causes.ts";
import { OUTPUT_FORMATS, type OutputFormat } from "../../rules/output-options.ts";
import { type OutcomeClass, outcomeClass, type RequestOutcome } from "../../rules/problem.ts";
import type { RenderOutcome } from "../render/outcome.ts";
import type { PdfCheck } from "../render/render.ts";
import { type PhaseRun, phaseSeconds } from "../render/render-time.ts";
import { type MetricSources, registerReadings } from "./scrape-readings.ts";

/** Each name's series is kept until the backend ends: an edge that makes up names must not add them without limit. */
export const MAX_CALLERS_IN_METRICS = 100;
/** The label of all further callers. No caller can have this name: see `CALLER_NAME_PATTERN`. */
const OTHER_CALLERS = "_other";

const SECONDS_BUCKETS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600];

const MEBIBYTES_BUCKETS = [32, 64, 128, 256, 512, 1024, 2048, 4096];

const OUTCOMES_OF_FORMAT: readonly RequestOutcome[] = [
  "ok",
  "client_gone",
  "invalid_file_data",
  "render_timeout",
  "output_too_large",
  "too_many_output_files",
  "template_compile_failed",
  "render_queue_full",
  "render_failed",
  "service_unavailable",
];

const OUTCOMES_WITHOUT_FORMAT: readonly RequestOutcome[] = [
  "client_gone",
  "invalid_request",
  "unsupported_format",
  "invalid_template_path",
  "invalid_file_data",
  "forbidden",
  "request_too_large",
  "template_source_too_large",
  "template_file_too_large",
  "string_too_large",
  "page_selection_too_large",
  "render_queue_full",
  "service_unavailable",
];

const OUTCOME_CLASSES: readonly OutcomeClass[] = ["ok", "client_gone", "request", "template", "capacity", "service"];

/** Once per process: prom-client watches its event loop and its garbage collection until it ends. */
const PROCESS_METRICS = new Registry();
collectDefaultMetrics({ register: PROCESS_METRICS });
// Gauges with the suffix of counters, which Prometheus' own check refuses; the sums of those by type are the same.
for (const kind of ["handles", "requests", "resources"]) {
  PROCESS_METRICS.removeSingleMetric(`nodejs_active_${kind}_total`);
}

export interface RequestReport {
  readonly outcome: RenderOutcome;
  /** `none` if the request was refused before its format was known. */
  readonly format: OutputFormat | "none";
  readonly runs: readonly PhaseRun[];
  readonly peakMemoryBytes?: number | null;
  readonly pdfCheck?: PdfCheck | null;
  readonly requestBytes?: number | undefined;
}

const DELIVERY_ENDS = ["delivered", "client_gone", "silent", "timed_out", "failed"] as const;

export type DeliveryEnd = (typeof DELIVERY_ENDS)[number];

export interface Delivery {
  readonly end: DeliveryEnd;
  readonly run: PhaseRun;
}

interface AnsweredRequest extends Pick<RequestReport, "format"> {
  readonly caller: string;
  readonly outcome: RequestOutcome;
  readonly delivery: Delivery | null;
  readonly seconds: number;
}

export class RenderMetrics {
  readonly #registry = new Registry();
  #scrape: Promise<string> | null = null;
  readonly #callers = new Set<string>();
  readonly #renders = this.#counter(
    "service_render_requests_total",
    "Render requests by output format and outcome; format is none if the request was rejected before it was known.",
    "format",
    "outcome",
  );
  readonly #callerRequests = this.#counter(
    "service_caller_requests_total",
    "Render requests by the name of their caller's token and by outcome; unnamed without a name from the edge, _other beyond the number of names that are kept.",
    "caller",
    "outcome",
  );
  readonly #timeouts = this.#counter(
    "service_render_timeouts_total",
    "Renders that ended in 408, by the limit that they exceeded: wall_clock, processor_time or writing_files.",
    "cause",
  );
  readonly #refusals = this.#counter(
    "service_render_refusals_total",
    "Render requests that this backend refused with 429 or 503, by the cause.",
    "code",
    "cause",
  );
  readonly #ofEdges = {
    service_edge_refusals_total: this.#edgeCounter("service_edge_refusals_total", "code", "cause"),
    service_edge_attempt_failures_total: this.#edgeCounter("service_edge_attempt_failures_total", "failure"),
  };
  readonly #durationSeconds = this.#histogram(
    "service_render_duration_seconds",
    "Seconds of whole render requests, from their head to the last byte of the answer, by how they ended: ok, client_gone, or the origin of the problem: request, template, capacity or service.",
    SECONDS_BUCKETS,
    "class",
  );
  readonly #phaseSeconds = this.#histogram(
    "service_render_phase_seconds",
    "Seconds of each phase of a render: receive, until the body is read and validated; queue; start, until a waiting process is taken or a new one is requested; files, until those of the request are written; compile; archive; probe, a second compile that asks for a page; delivery to the client.",
    SECONDS_BUCKETS,
    "phase",
  );
  readonly #outputBytes = this.#histogram(
    "service_render_output_bytes",
    "Size of rendered files in bytes.",
    [1e3, 1e4, 1e5, 1e6, 1e7, 1e8],
    "format",
  );
  readonly #peakMemoryBytes = this.#histogram(
    "service_render_peak_memory_bytes",
    "Peak resident memory of a render's Typst process, as last read before its end; renders that end before the first reading are not counted.",
    MEBIBYTES_BUCKETS.map((mebibytes) => mebibytes * 1024 ** 2),
    "format",
  );
  readonly #deliveries = this.#counter(
    "service_deliveries_total",
    "Outputs by how their delivery ended: client_gone, silent and timed_out were not read to the end; of failed ones, this backend could not read the file.",
    "end",
  );
  readonly #limitsMismatches = this.#counter(
    "service_limits_mismatches_total",
    "Requests that came from an edge with other limits than this backend has.",
  );

  constructor(sources: MetricSources) {
    registerReadings(this.#registry, sources);
    this.#countZeros();
  }

  get contentType(): string {
    return this.#registry.contentType;
  }

  /** Concurrent scrapes share one text, which takes 2 ms to make. */
  scrape(): Promise<string> {
    this.#scrape ??= Promise.all([PROCESS_METRICS, this.#registry].map((registry) => registry.metrics()))
      .then((texts) => texts.join("\n"))
      .finally(() => {
        this.#scrape = null;
      });
    return this.#scrape;
  }

  countRender({ outcome, format, runs, peakMemoryBytes }: RequestReport): void {
    for (const [phase, seconds] of Object.entries(phaseSeconds(runs))) this.#phaseSeconds.observe({ phase }, seconds);
    if (peakMemoryBytes) this.#peakMemoryBytes.observe({ format }, peakMemoryBytes);
    if (outcome.kind === "rendered") this.#outputBytes.observe({ format }, outcome.file.size);
    if (outcome.kind !== "refused" || outcome.problem.cause === undefined) return;
    const { code, cause } = outcome.problem;
    if (code === "render_timeout") this.#timeouts.inc({ cause });
    else this.#refusals.inc({ code, cause });
  }

  countRequest({ caller, format, outcome, delivery, seconds }: AnsweredRequest): void {
    this.#durationSeconds.observe({ class: outcomeClass(outcome) }, seconds);
    this.#renders.inc({ format, outcome });
    if (this.#callers.size < MAX_CALLERS_IN_METRICS) this.#callers.add(caller);
    this.#callerRequests.inc({ caller: this.#callers.has(caller) ? caller : OTHER_CALLERS, outcome });
    if (delivery === null) return;
    this.#phaseSeconds.observe({ phase: "delivery" }, delivery.run.milliseconds / 1000);
    this.#deliveries.inc({ end: delivery.end });
    if (delivery.end === "failed") this.#refusals.inc({ code: "service_unavailable", cause: "backend_failure" });
  }

  /** Counts what an edge reports of its own answers: see `EDGE_COUNTS_HEADER`. */
  countEdgeReport(report: string): void {
    for (const { metric, labels, count } of parseEdgeReport(report)) this.#ofEdges[metric].inc(labels, count);
  }

  countLimitsMismatch(): void {
    this.#limitsMismatches.inc();
  }

  /** Counts begin at 0 for every label that can occur, so that the first failure of a kind is an increase. */
  #countZeros(): void {
    for (const outcome of OUTCOMES_WITHOUT_FORMAT) this.#renders.inc({ format: "none", outcome }, 0);
    for (const format of OUTPUT_FORMATS) {
      for (const outcome of OUTCOMES_OF_FORMAT) this.#renders.inc({ format, outcome }, 0);
    }
    for (const cause of Object.keys(CAUSES.render_timeout)) this.#timeouts.inc({ cause }, 0);
    for (const code of REFUSAL_CODES) {
      for (const cause of Object.keys(CAUSES[code])) this.#refusals.inc({ code, cause }, 0);
    }
    for (const { metric, labels } of EDGE_COUNTS.values()) this.#ofEdges[metric].inc(labels, 0);
    for (const outcome of OUTCOME_CLASSES) this.#durationSeconds.zero({ class: outcome });
    for (const end of DELIVERY_ENDS) this.#deliveries.inc({ end }, 0);
  }

  #counter<Label extends string = never>(name: string, help: string, ...labelNames: Label[]): Counter<Label> {
    return new Counter({ name, help, labelNames, registers: [this.#registry] });
  }

  #edgeCounter(name: keyof typeof EDGE_COUNTERS, ...labelNames: string[]): Counter<string> {
    return this.#counter(name, EDGE_COUNTERS[name], ...labelNames);
  }

  #histogram<Label extends string>(name: string, help: string, buckets: number[], label: Label): Histogram<Label> {
    return new Histogram({ name, help, labelNames: [label], buckets, registers: [this.#registry] });
  }
}
