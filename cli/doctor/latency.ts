/**
 * How long a small render takes, and on which part of its way.
 */

import { isAnswer } from "./answer-faults.ts";
import { type CheckGroup, deploymentCheck, found, ok, originCheck, skipped } from "./check.ts";
import type { Exchange } from "./probe.ts";
import { SMALL_RENDER, whyNotSent } from "./renders.ts";

/** Requests of each kind, of which the median counts. */
const REQUESTS = 5;
const REQUESTS_AT_ORIGIN = 3;
/** Above these, people notice. */
const SLOW_HEALTH_MILLISECONDS = 1000;
const SLOW_RENDER_MILLISECONDS = 5000;
const SLOW_QUEUE_MILLISECONDS = 1000;

const latency = deploymentCheck({
  id: "latency",
  title: "a small render, by hop",
  looksAt:
    "Medians of five: `/health` (network and edge), a render of one word, and its phases where there is `Server-Timing`",
  needs: ["render-pdf"],
  faults: {
    "slow-way": {
      severity: "warning",
      cause: "Network and edge alone take over a second: a long distance, or a proxy that waits.",
      advice: "Try from another network, and compare with the time of the TCP connection.",
    },
    "slow-queue": {
      severity: "warning",
      cause: "A render waits more than a second for a slot.",
      advice: "Add origins or slots, or find out which caller takes them (docs/monitoring.md).",
    },
    "slow-render": {
      severity: "warning",
      cause: "A page of one word takes over five seconds behind the edge: hosts are overloaded or starting.",
      advice: "Look at load and disk of the backends, and at SERVICE_WARM_RENDERS.",
    },
  },
  async run(examination) {
    const obstacle = whyNotSent(examination, SMALL_RENDER);
    if (obstacle !== null) return skipped(obstacle);
    const health = await medianOf(REQUESTS, () => examination.ask({ path: "health" }));
    const render = await medianOf(REQUESTS, () => examination.render(SMALL_RENDER));
    if (health === null || render === null) return skipped("not every request was answered");
    const phases = Object.entries(render.phases);
    const measured = {
      healthMilliseconds: health.milliseconds,
      renderMilliseconds: render.milliseconds,
      ...Object.fromEntries(phases.map(([name, milliseconds]) => [`${name}Milliseconds`, milliseconds])),
    };
    const parts = [
      `network and edge ${health.milliseconds} ms`,
      ...(phases.length > 0
        ? phases.map(([name, milliseconds]) => `${name} ${milliseconds} ms`)
        : [`behind the edge ${Math.max(0, render.milliseconds - health.milliseconds)} ms`]),
    ];
    const seen = `${render.milliseconds} ms: ${parts.join(", ")}`;
    if (health.milliseconds > SLOW_HEALTH_MILLISECONDS) return found("slow-way", seen, measured);
    if ((render.phases.queue ?? 0) > SLOW_QUEUE_MILLISECONDS) return found("slow-queue", seen, measured);
    if (render.milliseconds - health.milliseconds > SLOW_RENDER_MILLISECONDS)
      return found("slow-render", seen, measured);
    return ok(seen, measured);
  },
});

const originLatency = originCheck({
  id: "origin-latency",
  title: "a small render, without the edge",
  looksAt: "The median of three renders that the origin is asked for directly",
  needs: ["origin-renders"],
  faults: {
    slow: {
      severity: "warning",
      cause: "A page of one word takes over five seconds there: the host is overloaded or starting.",
      advice: "Look at its load and disk, and at SERVICE_WARM_RENDERS.",
    },
  },
  async run(examination, origin) {
    if (examination.rendersObstacle === "renders are not answered") return skipped(examination.rendersObstacle);
    const render = await medianOf(REQUESTS_AT_ORIGIN, () => origin.render(SMALL_RENDER));
    if (render === null) return skipped("not every request was answered");
    const measured = { renderMilliseconds: render.milliseconds };
    const seen = `${render.milliseconds} ms`;
    return render.milliseconds > SLOW_RENDER_MILLISECONDS ? found("slow", seen, measured) : ok(seen, measured);
  },
});

export const LATENCY: CheckGroup = { name: "Latency", checks: [latency, originLatency] };

interface Timing {
  readonly milliseconds: number;
  /** By `Server-Timing`, where it is sent. */
  readonly phases: Readonly<Record<string, number>>;
}

/** The answer of median duration; null if one of them has another status than 200. */
async function medianOf(count: number, send: () => Promise<Exchange>): Promise<Timing | null> {
  const timings: Timing[] = [];
  for (let index = 0; index < count; index++) {
    const exchange = await send();
    if (!isAnswer(exchange, 200)) return null;
    const phases = serverTiming(exchange.headers.get("Server-Timing") ?? "");
    timings.push({ milliseconds: Math.round(exchange.milliseconds), phases });
  }
  const sorted = timings.toSorted((left, right) => left.milliseconds - right.milliseconds);
  return sorted[Math.floor(count / 2)] ?? null;
}

/** The phases that the service names. Others, which proxies add, are left out. */
const PHASES: ReadonlySet<string> = new Set(["validate", "origin", "queue", "start", "files", "compile", "archive"]);

/** The durations of a `Server-Timing` field in milliseconds (https://www.w3.org/TR/server-timing/). */
export function serverTiming(field: string): Readonly<Record<string, number>> {
  const entries = field
    .slice(0, 2000)
    .split(",")
    .flatMap((metric): [string, number][] => {
      const [name = "", ...parameters] = metric.split(";").map((part) => part.trim());
      const duration = parameters
        .find((parameter) => /^dur=/i.test(parameter))
        ?.slice(4)
        .replaceAll('"', "");
      const milliseconds = Number(duration);
      if (!PHASES.has(name) || !duration || !Number.isFinite(milliseconds)) return [];
      return [[name, Math.round(milliseconds * 10) / 10]];
    });
  return Object.fromEntries(entries);
}
