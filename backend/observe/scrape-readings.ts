/** The metrics that are read from their sources at each scrape, and those that never change. */
import { Counter, Gauge, type Registry } from "prom-client";
import { TYPST_VERSION } from "../../typst/typst-release.mjs";
import type { ByteBudget } from "../admission/byte-budget.ts";
import type { RenderQueue } from "../admission/render-queue.ts";
import type { WarmPool } from "../compiler/warm-pool.ts";
import type { ProcessLimits, ProcessUse } from "../processes/process-limits.ts";
import type { SandboxMode } from "../sandbox/sandbox.ts";
import { freeDiskBytes } from "../work-directory/watch.ts";

export interface MetricSources {
  readonly queue: RenderQueue;
  readonly warmPool: WarmPool;
  readonly tempSpace: ByteBudget;
  readonly bodyMemory: ByteBudget;
  readonly outputMemory: ByteBudget;
  readonly deliveries: { readonly underWay: number };
  readonly slots: number;
  readonly workDirectory: string;
  readonly processLimits: ProcessLimits;
  readonly lostSpans: () => number;
  readonly droppedLogLines: () => number;
  readonly sandboxMode: SandboxMode;
  readonly capabilities: { readonly digest: string | null };
  readonly followsCrash: boolean;
}

type Reading = readonly [name: string, help: string, read: () => number | Promise<number>];

const gaugesOf = (sources: MetricSources): readonly Reading[] => {
  const { queue, warmPool, tempSpace, bodyMemory, outputMemory, deliveries, processLimits } = sources;
  // To count processes, each is looked at: once for both, which are read in this order.
  let processes: ProcessUse | null = null;
  const countProcesses = () => {
    processes = processLimits.findTightest();
    return processes?.used ?? 0;
  };
  // If the directory has been removed, the backend is about to end.
  const freeBytes = () => freeDiskBytes(sources.workDirectory).catch(() => 0);
  // biome-ignore format: a table.
  return [
    ["service_backend_follows_crash", "1 if the backend before this one was killed, or its machine.", () => Number(sources.followsCrash)],
    ["service_render_slots", "Renders that may run at once.", () => sources.slots],
    ["service_renders_running", "Renders that run now.", () => queue.running],
    ["service_renders_waiting", "Requests that wait for a slot now.", () => queue.waiting],
    ["service_temp_reserved_bytes", "Temporary space of running renders and of outputs that are not delivered yet.", () => tempSpace.reservedBytes],
    ["service_body_memory_bytes", "Memory of request bodies.", () => bodyMemory.reservedBytes],
    ["service_output_memory_bytes", "Memory of outputs that are not delivered yet.", () => outputMemory.reservedBytes],
    ["service_temp_max_bytes", "SERVICE_MAX_TEMP_BYTES.", () => tempSpace.maxBytes],
    ["service_body_memory_max_bytes", "SERVICE_MAX_BODY_MEMORY_BYTES.", () => bodyMemory.maxBytes],
    ["service_output_memory_max_bytes", "SERVICE_MAX_OUTPUT_MEMORY_BYTES.", () => outputMemory.maxBytes],
    ["service_work_directory_free_bytes", "Free space of the file system that holds the work directory.", freeBytes],
    ["service_processes", "Processes and threads that count towards the limit that leaves the least room, that of a container or of the user; 0 without one.", countProcesses],
    ["service_processes_max", "That limit; infinite if there is none.", () => processes?.max ?? Number.POSITIVE_INFINITY],
    ["service_deliveries_underway", "Outputs that are being delivered.", () => deliveries.underWay],
    ["service_warm_renders_waiting", "Typst processes that wait for a request.", () => warmPool.waiting],
  ];
};

export function registerReadings(registry: Registry, sources: MetricSources): void {
  const registers = [registry];
  new Gauge({
    name: "service_backend_info",
    help: "Always 1; the labels name the version of Typst and the sandbox.",
    labelNames: ["typst_version", "sandbox"],
    registers,
  }).set({ typst_version: TYPST_VERSION, sandbox: sources.sandboxMode }, 1);
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
  for (const [name, help, read] of gaugesOf(sources)) {
    new Gauge({
      name,
      help,
      registers,
      async collect() {
        this.set(await read());
      },
    });
  }
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
    "service_log_lines_dropped_total",
    "Log lines that were dropped because nobody has read the log.",
    sources.droppedLogLines,
  );
  const taken = () => sources.warmPool.takes;
  total("service_warm_renders_used_total", "Renders that found a Typst process waiting for them.", taken);
}
