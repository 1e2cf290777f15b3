/**
 * The backend's metrics, in Prometheus terms: base units in the names, labels from closed sets only.
 */
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from "prom-client";
import type { OutputFormat } from "../rules/output-options.ts";
import type { ProblemCode } from "../rules/problem.ts";
import type { PhaseSeconds } from "./render.ts";
import type { RenderQueue } from "./render-queue.ts";

/** How one render request ended: `ok`, the code of a problem, or the client that did not wait. */
export type RequestOutcome = "ok" | "client_gone" | ProblemCode;

export class BackendMetrics {
  readonly registry = new Registry();
  readonly #renders: Counter<"format" | "outcome">;
  readonly #phaseSeconds: Histogram<"phase">;
  readonly #outputBytes: Histogram<"format">;
  readonly #limitsMismatches: Counter;

  constructor(queue: RenderQueue, slots: number) {
    const registers = [this.registry];
    collectDefaultMetrics({ register: this.registry });
    this.#renders = new Counter({
      name: "service_render_requests_total",
      help: "Render requests by output format and outcome; format is none where the request was refused before it was known.",
      labelNames: ["format", "outcome"],
      registers,
    });
    this.#phaseSeconds = new Histogram({
      name: "service_render_phase_seconds",
      help: "Seconds of each phase of a render: queue, prepare, compile, archive.",
      labelNames: ["phase"],
      buckets: [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30],
      registers,
    });
    this.#outputBytes = new Histogram({
      name: "service_render_output_bytes",
      help: "Size of rendered files in bytes.",
      labelNames: ["format"],
      buckets: [1e3, 1e4, 1e5, 1e6, 1e7, 1e8],
      registers,
    });
    this.#limitsMismatches = new Counter({
      name: "service_limits_mismatches_total",
      help: "Requests whose edge has other limits than this backend.",
      registers,
    });
    new Gauge({ name: "service_render_slots", help: "Renders that may run at once.", registers }).set(slots);
    new Gauge({
      name: "service_renders_running",
      help: "Renders that run now.",
      registers,
      collect() {
        this.set(queue.running);
      },
    });
    new Gauge({
      name: "service_renders_waiting",
      help: "Requests that wait for a slot now.",
      registers,
      collect() {
        this.set(queue.waiting);
      },
    });
  }

  /** Counts a render request once, at its end. */
  countRequest(format: OutputFormat | "none", outcome: RequestOutcome): void {
    this.#renders.inc({ format, outcome });
  }

  observePhases(phases: PhaseSeconds & { queue?: number }): void {
    for (const [phase, seconds] of Object.entries(phases)) this.#phaseSeconds.observe({ phase }, seconds);
  }

  observeOutput(format: OutputFormat, bytes: number): void {
    this.#outputBytes.observe({ format }, bytes);
  }

  countLimitsMismatch(): void {
    this.#limitsMismatches.inc();
  }
}
