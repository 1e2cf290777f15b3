/** The backend's metrics, in Prometheus terms: base units in the names, labels from closed or bounded sets only. */
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from "prom-client";
import { type OutcomeClass, outcomeClass, type RequestOutcome } from "../../protocol/request-outcome.ts";
import { ATTEMPT_FAILURES, CAUSES, parseCause } from "../../rules/causes.ts";
import { OUTPUT_FORMATS, type OutputFormat } from "../../rules/output-options.ts";
import type { ByteBudget } from "../admission/byte-budget.ts";
import type { RenderQueue } from "../admission/render-queue.ts";
import type { RenderOutcome } from "../render/outcome.ts";
import { type PhaseRun, phaseSeconds } from "../render/phases.ts";
import type { SandboxMode } from "../sandbox/sandbox.ts";
import type { WarmPool } from "../typst/warm-pool.ts";
import { freeDiskBytes } from "../work-directory/disk-space.ts";
import { DELIVERY_ENDS, type Delivery } from "./delivery-end.ts";
import type { MachineWatch } from "./machine-watch.ts";

/** A request that is ready to be answered, and what was measured of it. */
export interface ProcessedRequest {
  readonly outcome: RenderOutcome;
  /** `none` if the request was rejected before its format was known. */
  readonly format: OutputFormat | "none";
  readonly runs: readonly PhaseRun[];
  readonly peakMemoryBytes?: number | null;
  /** The size of the body, if all of it was read. */
  readonly requestBytes?: number | undefined;
}

/** How a render request ended for its client. */
export interface RequestEnd {
  readonly outcome: RequestOutcome;
  /** Null if there was no file to deliver. */
  readonly delivery: Delivery | null;
}

/** What is read at each scrape, and the labels of the deployment. */
export interface MetricSources {
  readonly queue: RenderQueue;
  readonly warmPool: WarmPool;
  readonly tempSpace: ByteBudget;
  readonly bodyMemory: ByteBudget;
  readonly outputMemory: ByteBudget;
  readonly deliveries: { readonly underWay: number };
  readonly slots: number;
  readonly workDirectory: string;
  readonly machineWatch: MachineWatch;
  /** Spans that could not be exported so far. */
  readonly lostSpans: () => number;
  readonly sandboxMode: SandboxMode;
  readonly typstVersion: string;
  readonly capabilities: { readonly digest: string | null };
}

/**
 * The most callers with series of their own. Names come from a setting of the edge and are few, but the series of each
 * name is kept until the backend ends: a mistake, such as an edge that makes up names, must not add series without
 * limit.
 */
export const MAX_CALLERS_IN_METRICS = 100;
/** The label of all further callers. No caller can have this name: see `CALLER_NAME_PATTERN`. */
const OTHER_CALLERS = "_other";

/** Up to the longest render timeout that can be set. */
const SECONDS_BUCKETS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600];

/** The outcomes of a request whose format is known. */
const OUTCOMES_OF_FORMAT = [
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
] as const satisfies readonly RequestOutcome[];

/** The outcomes of a request that is rejected before its format is known. */
const OUTCOMES_WITHOUT_FORMAT = [
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
] as const satisfies readonly RequestOutcome[];

const OUTCOME_CLASSES: readonly OutcomeClass[] = ["ok", "client_gone", "request", "template", "capacity", "service"];

/** 408 has its own metric. */
const REFUSAL_CODES = ["render_queue_full", "service_unavailable"] as const;

/** Once per process: prom-client watches its event loop and its garbage collection until it ends. */
const PROCESS_METRICS = new Registry();
collectDefaultMetrics({ register: PROCESS_METRICS });

export class BackendMetrics {
  readonly #registry = new Registry();
  /** The text of the current scrape. */
  #scrape: Promise<string> | null = null;
  readonly #renders: Counter<"format" | "outcome">;
  readonly #callerRequests: Counter<"caller" | "outcome">;
  readonly #callers = new Set<string>();
  readonly #timeouts: Counter<"cause">;
  readonly #refusals: Counter<"code" | "cause">;
  readonly #edgeRefusals: Counter<"code" | "cause">;
  readonly #edgeFailures: Counter<"failure">;
  readonly #durationSeconds: Histogram<"class">;
  readonly #phaseSeconds: Histogram<"phase">;
  readonly #outputBytes: Histogram<"format">;
  readonly #peakMemoryBytes: Histogram<"format">;
  readonly #deliveries: Counter<"end">;
  readonly #limitsMismatches: Counter;

  constructor(sources: MetricSources) {
    const registers = [this.#registry];
    const counter = <Label extends string = never>(name: string, help: string, ...labelNames: Label[]) =>
      new Counter({ name, help, labelNames, registers });
    const histogram = <Label extends string>(name: string, help: string, buckets: number[], ...labelNames: Label[]) =>
      new Histogram({ name, help, labelNames, buckets, registers });
    this.#renders = counter(
      "service_render_requests_total",
      "Render requests by output format and outcome; format is none if the request was rejected before it was known.",
      "format",
      "outcome",
    );
    // From the start, so that the first failure of a kind is an increase, and an alert on it can fire.
    for (const outcome of OUTCOMES_WITHOUT_FORMAT) this.#renders.inc({ format: "none", outcome }, 0);
    for (const format of OUTPUT_FORMATS) {
      for (const outcome of OUTCOMES_OF_FORMAT) this.#renders.inc({ format, outcome }, 0);
    }
    this.#callerRequests = counter(
      "service_caller_requests_total",
      "Render requests by the name of their caller's token and by outcome; unnamed without a name from the edge, _other beyond the number of names that are kept.",
      "caller",
      "outcome",
    );
    this.#timeouts = counter(
      "service_render_timeouts_total",
      "Renders answered 408 by the limit that they exceeded: wall_clock, processor_time or writing_files.",
      "cause",
    );
    // From the start, so that the first timeout is an increase.
    for (const cause of Object.keys(CAUSES.render_timeout)) this.#timeouts.inc({ cause }, 0);
    this.#refusals = counter(
      "service_render_refusals_total",
      "Render requests that this backend answered 429 or 503, by the cause.",
      "code",
      "cause",
    );
    this.#edgeRefusals = counter(
      "service_edge_refusals_total",
      "Requests that an edge answered 429 or 503, by the cause. Edges report them to their backends, each to one of them.",
      "code",
      "cause",
    );
    this.#edgeFailures = counter(
      "service_edge_attempt_failures_total",
      "Attempts of an edge to have a render answered by a backend that failed, reported in the same way.",
      "failure",
    );
    for (const code of REFUSAL_CODES) {
      for (const cause of Object.keys(CAUSES[code])) {
        this.#refusals.inc({ code, cause }, 0);
        this.#edgeRefusals.inc({ code, cause }, 0);
      }
    }
    for (const failure of Object.keys(ATTEMPT_FAILURES)) this.#edgeFailures.inc({ failure }, 0);
    this.#durationSeconds = histogram(
      "service_render_duration_seconds",
      "Seconds of whole render requests, from their head to the last byte of the answer, by how they ended: ok, client_gone, or the origin of the problem: request, template, capacity or service.",
      SECONDS_BUCKETS,
      "class",
    );
    for (const outcome of OUTCOME_CLASSES) this.#durationSeconds.zero({ class: outcome });
    this.#phaseSeconds = histogram(
      "service_render_phase_seconds",
      "Seconds of each phase of a render: receive, until the body is read and validated; queue; start, until a waiting process is taken or a new one is requested; files, until those of the request are written; compile; archive; probe, a second compile that asks for a page; delivery to the client.",
      SECONDS_BUCKETS,
      "phase",
    );
    this.#outputBytes = histogram(
      "service_render_output_bytes",
      "Size of rendered files in bytes.",
      [1e3, 1e4, 1e5, 1e6, 1e7, 1e8],
      "format",
    );
    this.#peakMemoryBytes = histogram(
      "service_render_peak_memory_bytes",
      "Peak resident memory of a render's Typst process, as last read before its end; renders that end before the first reading are not counted.",
      [32, 64, 128, 256, 512, 1024, 2048, 4096].map((mebibytes) => mebibytes * 1024 ** 2),
      "format",
    );
    this.#deliveries = counter(
      "service_deliveries_total",
      "Outputs by how their delivery ended: client_gone, silent and timed_out were not read to the end.",
      "end",
    );
    for (const end of DELIVERY_ENDS) this.#deliveries.inc({ end }, 0);
    this.#limitsMismatches = counter(
      "service_limits_mismatches_total",
      "Requests that came from an edge with other limits than this backend has.",
    );
    registerReadings(this.#registry, sources);
  }

  get contentType(): string {
    return this.#registry.contentType;
  }

  /** The metrics as text. Concurrent scrapes share one text, which takes 2 ms to make (measured). */
  text(): Promise<string> {
    this.#scrape ??= Promise.all([PROCESS_METRICS, this.#registry].map((registry) => registry.metrics()))
      .then((texts) => texts.join("\n"))
      .finally(() => {
        this.#scrape = null;
      });
    return this.#scrape;
  }

  /** To be called before the output is delivered, because delivery may take minutes. */
  observeRender({ outcome, format, runs, peakMemoryBytes }: ProcessedRequest): void {
    for (const [phase, seconds] of Object.entries(phaseSeconds(runs))) this.#phaseSeconds.observe({ phase }, seconds);
    if (peakMemoryBytes) this.#peakMemoryBytes.observe({ format }, peakMemoryBytes);
    if (outcome.kind === "refused" && outcome.problem.cause !== undefined) {
      const { code, cause } = outcome.problem;
      if (code === "render_timeout") this.#timeouts.inc({ cause });
      else this.#refusals.inc({ code, cause });
    }
    if (outcome.kind === "rendered") this.#outputBytes.observe({ format }, outcome.file.output.size);
  }

  /** Counts a render request once, at its end. */
  countRequest(caller: string, format: ProcessedRequest["format"], end: RequestEnd, seconds: number): void {
    this.#durationSeconds.observe({ class: outcomeClass(end.outcome) }, seconds);
    this.#renders.inc({ format, outcome: end.outcome });
    if (this.#callers.size < MAX_CALLERS_IN_METRICS) this.#callers.add(caller);
    this.#callerRequests.inc({ caller: this.#callers.has(caller) ? caller : OTHER_CALLERS, outcome: end.outcome });
    if (end.delivery === null) return;
    this.#phaseSeconds.observe({ phase: "delivery" }, end.delivery.run.milliseconds / 1000);
    this.#deliveries.inc({ end: end.delivery.end });
  }

  /** Counts what an edge reports of its own answers: see `EDGE_COUNTS_HEADER`. */
  countEdge(report: string): void {
    for (const [name, text] of new URLSearchParams(report)) {
      const count = /^[0-9]{1,9}$/.test(text) ? Number(text) : 0;
      if (Object.hasOwn(ATTEMPT_FAILURES, name)) this.#edgeFailures.inc({ failure: name }, count);
      for (const code of REFUSAL_CODES) {
        if (parseCause(code, name) !== undefined) this.#edgeRefusals.inc({ code, cause: name }, count);
      }
    }
  }

  countLimitsMismatch(): void {
    this.#limitsMismatches.inc();
  }
}

/** Metrics that are read from their sources at each scrape, and those that never change. */
function registerReadings(registry: Registry, sources: MetricSources): void {
  const { queue, warmPool, tempSpace, bodyMemory, outputMemory, deliveries, slots } = sources;
  const registers = [registry];
  new Gauge({
    name: "service_backend_info",
    help: "Always 1; the labels name the version of Typst and the sandbox.",
    labelNames: ["typst_version", "sandbox"],
    registers,
  }).set({ typst_version: sources.typstVersion, sandbox: sources.sandboxMode }, 1);
  new Gauge({
    name: "service_capabilities_info",
    help: "1 once fonts and packages are known; backends with the same digest have the same fonts, packages and formats.",
    labelNames: ["digest"],
    registers,
    collect() {
      const { digest } = sources.capabilities;
      if (digest !== null) this.set({ digest }, 1);
    },
  });
  const gauge = (name: string, help: string, read: () => number) =>
    new Gauge({
      name,
      help,
      registers,
      collect() {
        this.set(read());
      },
    });
  gauge("service_render_slots", "Renders that may run at once.", () => slots);
  gauge("service_renders_running", "Renders that run now.", () => queue.running);
  gauge("service_renders_waiting", "Requests that wait for a slot now.", () => queue.waiting);
  gauge(
    "service_temp_reserved_bytes",
    "Temporary space of running renders and of outputs that are not delivered yet.",
    () => tempSpace.reservedBytes,
  );
  gauge("service_body_memory_bytes", "Memory of request bodies.", () => bodyMemory.reservedBytes);
  gauge(
    "service_output_memory_bytes",
    "Memory of outputs that are not delivered yet.",
    () => outputMemory.reservedBytes,
  );
  gauge("service_temp_max_bytes", "SERVICE_MAX_TEMP_BYTES.", () => tempSpace.maxBytes);
  gauge("service_body_memory_max_bytes", "SERVICE_MAX_BODY_MEMORY_BYTES.", () => bodyMemory.maxBytes);
  gauge("service_output_memory_max_bytes", "SERVICE_MAX_OUTPUT_MEMORY_BYTES.", () => outputMemory.maxBytes);
  new Gauge({
    name: "service_work_directory_free_bytes",
    help: "Free space of the file system that holds the work directory.",
    registers,
    async collect() {
      // If the directory has been removed, the backend is about to end.
      this.set(await freeDiskBytes(sources.workDirectory).catch(() => 0));
    },
  });
  gauge(
    "service_processes",
    "Processes and threads that count towards the limit that leaves the least room, that of a container or of the user; 0 without one.",
    () => sources.machineWatch.processes()?.used ?? 0,
  );
  gauge(
    "service_processes_max",
    "That limit; infinite if there is none.",
    () => sources.machineWatch.processes()?.max ?? Number.POSITIVE_INFINITY,
  );
  gauge("service_deliveries_underway", "Outputs that are being delivered.", () => deliveries.underWay);
  gauge("service_warm_renders_waiting", "Typst processes that wait for a request.", () => warmPool.waiting);
  const total = (name: string, help: string, read: () => number) =>
    new Counter({
      name,
      help,
      registers,
      collect() {
        this.reset();
        this.inc(read());
      },
    });
  total("service_trace_spans_lost_total", "OpenTelemetry spans that no collector has taken.", sources.lostSpans);
  total(
    "service_warm_renders_used_total",
    "Renders that found a Typst process waiting for them.",
    () => warmPool.takes,
  );
}
