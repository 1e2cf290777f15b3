/** Puts together what the backend is made of, below its HTTP application. */
import { availableParallelism } from "node:os";
import type { FastifyBaseLogger } from "fastify";
import type { BackendLoad } from "../../protocol/headers.ts";
import type { LogOutput } from "../../protocol/node/log-output.ts";
import { ByteBudget } from "../admission/byte-budget.ts";
import { RenderQueue } from "../admission/render-queue.ts";
import { InstalledCapabilities } from "../compiler/capabilities.ts";
import { RenderThreads } from "../compiler/render-threads.ts";
import { TypstSupervisor } from "../compiler/supervisor.ts";
import { WarmPool } from "../compiler/warm-pool.ts";
import type { Launcher } from "../launcher/launcher.ts";
import { MachineWatch } from "../observe/machine-watch.ts";
import type { OtlpTracing } from "../observe/otlp-tracing.ts";
import { RenderMetrics } from "../observe/render-metrics.ts";
import { RequestObserver } from "../observe/request-observer.ts";
import { ProcessLimits } from "../processes/process-limits.ts";
import type { RenderResources } from "../render/render.ts";
import { STEADY_CLOCK } from "../render/render-time.ts";
import { MAX_MEMORY_BYTES_PER_OUTPUT } from "../render/spool.ts";
import { maxProcessesOfUser } from "../sandbox/resource-limits.ts";
import type { Sandbox } from "../sandbox/sandbox.ts";
import { type BackendSettings, maxTempBytesPerRender } from "../settings.ts";
import { workDirectoryPath } from "../work-directory/paths.ts";
import { WorkDirectoryWatch } from "../work-directory/watch.ts";
import { Deliveries } from "./delivery.ts";

/** What start-up has settled before the parts are built. The work directory must be ready, and the sandbox tried. */
export interface Prerequisites {
  readonly settings: BackendSettings;
  readonly sandbox: Sandbox;
  readonly launcher: Launcher;
  readonly tracing: OtlpTracing | null;
  readonly logOutput: LogOutput;
  readonly followsCrash: boolean;
}

export interface ServiceParts extends RenderResources {
  readonly sandbox: Sandbox;
  readonly queue: RenderQueue;
  readonly bodyMemory: ByteBudget;
  readonly deliveries: Deliveries;
  readonly capabilities: InstalledCapabilities;
  readonly machineWatch: MachineWatch;
  readonly metrics: RenderMetrics;
  readonly observer: RequestObserver;
  /** "draining": `/ready` says 503, and renders are still accepted. "refusing": they no longer are. */
  readonly stage: { current: "serving" | "draining" | "refusing" };
  readonly close: () => Promise<void>;
}

export function readLoad({ settings, queue, stage }: ServiceParts): BackendLoad {
  const { running, waiting } = queue;
  return { running, waiting, slots: settings.maxConcurrentRenders, isDraining: stage.current !== "serving" };
}

export function openParts(prerequisites: Prerequisites, log: FastifyBaseLogger): ServiceParts {
  const { settings, sandbox, launcher, tracing, logOutput, followsCrash } = prerequisites;
  const { workDirectory, limits, maxConcurrentRenders: slots } = settings;
  const queue = new RenderQueue({
    slots,
    maxWaiting: settings.maxQueuedRenders,
    deadlineMilliseconds: settings.queueDeadlineSeconds * 1000,
    clock: STEADY_CLOCK,
  });
  const supervisor = new TypstSupervisor(settings, sandbox, launcher);
  const threads = new RenderThreads(queue, settings.renderMemoryBytes, availableParallelism());
  const warmPool = new WarmPool({ supervisor, threads, maxWaiting: settings.warmRenders, slots, queue });
  const capabilities = new InstalledCapabilities(settings, supervisor);
  const budgets = {
    tempSpace: new ByteBudget(settings.maxTempBytes, maxTempBytesPerRender(limits)),
    bodyMemory: new ByteBudget(settings.maxBodyMemoryBytes, limits.max_request_body_bytes),
    outputMemory: new ByteBudget(settings.maxOutputMemoryBytes, MAX_MEMORY_BYTES_PER_OUTPUT),
  };
  const deliveries = new Deliveries({
    silenceMilliseconds: settings.deliverySilenceSeconds * 1000,
    totalMilliseconds: settings.deliveryTimeoutSeconds * 1000,
  });
  const workDirectoryWatch = new WorkDirectoryWatch([
    workDirectoryPath(workDirectory, "claim"),
    workDirectoryPath(workDirectory, "launcher"),
    ...sandbox.workFiles,
  ]);
  const processLimits = new ProcessLimits(maxProcessesOfUser(sandbox.mode, launcher));
  const machineWatch = new MachineWatch({ workDirectory, processLimits, log: (level, line) => log[level](line) });
  const metrics = new RenderMetrics({
    ...budgets,
    ...{ queue, warmPool, deliveries, slots, workDirectory, processLimits, capabilities, followsCrash },
    lostSpans: () => tracing?.lostSpans ?? 0,
    droppedLogLines: () => logOutput.droppedLines,
    sandboxMode: sandbox.mode,
  });
  const observer = new RequestObserver(limits, metrics, tracing);
  return {
    ...{ settings, sandbox, queue, supervisor, warmPool, capabilities, deliveries },
    ...{ workDirectoryWatch, machineWatch, metrics, observer },
    ...budgets,
    stage: { current: "serving" },
    close: async () => {
      workDirectoryWatch.stop();
      machineWatch.stop();
      // At once: what the pool discards must not wait for a disk that has become read-only.
      await Promise.all([warmPool.close(), supervisor.close()]);
      await tracing?.shutdown();
    },
  };
}
