/**
 * How long a small render takes, and on which part of its way.
 */
import { type Exchange, isOk } from "./answers.ts";
import { check, found, group, skipped } from "./check.ts";
import { warning } from "./faults.ts";
import { SMALL_RENDER, whyNotSent } from "./renders.ts";

/** Requests of each kind, of which the median counts. */
const REQUESTS = 5;
/** Above these, people notice. */
const SLOW_HEALTH_MILLISECONDS = 1000;
export const SLOW_RENDER_MILLISECONDS = 5000;
const SLOW_QUEUE_MILLISECONDS = 1000;

export const LATENCY = group("Latency", [
  check("latency", {
    title: "a small render, by hop",
    looksAt:
      "Medians of five: `/health` (network and edge), a render of one word, and its phases where there is `Server-Timing`",
    needs: ["render-pdf"],
    faults: {
      "slow-way": warning`Network and edge alone take over a second: a long distance, or a proxy that waits.
        → Try from another network, and compare with the time of the TCP connection.`,
      "slow-queue": warning`A render waits more than a second for a slot.
        → Add origins or slots, or find out which caller takes them (docs/monitoring.md).`,
      "slow-render": warning`
        A page of one word takes over five seconds behind the edge: hosts are overloaded or starting.
        → Look at load and disk of the backends, and at SERVICE_WARM_RENDERS.`,
    },
    async run(edge, examination) {
      const obstacle = whyNotSent(examination, SMALL_RENDER);
      if (obstacle !== null) return skipped(obstacle);
      const health = await medianOf(REQUESTS, () => edge.get("health"));
      const render = await medianOf(REQUESTS, () => examination.render(SMALL_RENDER));
      if (health === null || render === null) return skipped("not every request was answered");
      const [healthMilliseconds, renderMilliseconds] = [health.milliseconds, render.milliseconds];
      const behindEdge = Math.max(0, renderMilliseconds - healthMilliseconds);
      const phases = Object.entries(render.phases);
      const parts = phases.length === 0 ? [["behind the edge", behindEdge]] : phases;
      const seen = [["network and edge", healthMilliseconds], ...parts].map(([name, time]) => `${name} ${time} ms`);
      const measured = Object.fromEntries(phases.map(([name, time]) => [`${name}Milliseconds`, time]));
      const faults = [
        healthMilliseconds > SLOW_HEALTH_MILLISECONDS && "slow-way",
        (render.phases.queue ?? 0) > SLOW_QUEUE_MILLISECONDS && "slow-queue",
        behindEdge > SLOW_RENDER_MILLISECONDS && "slow-render",
      ] as const;
      return found(faults.find((fault) => fault !== false) ?? null, `${renderMilliseconds} ms: ${seen.join(", ")}`, {
        healthMilliseconds,
        renderMilliseconds,
        ...measured,
      });
    },
  }),
]);

interface Timing {
  readonly milliseconds: number;
  /** By `Server-Timing`, where it is sent. */
  readonly phases: Readonly<Record<string, number>>;
}

/** The answer of median duration; null if one of them has another status than 200. */
export async function medianOf(count: number, send: () => Promise<Exchange>): Promise<Timing | null> {
  const timings: Timing[] = [];
  for (let index = 0; index < count; index++) {
    const exchange = await send();
    if (!isOk(exchange)) return null;
    const phases = serverTiming(exchange.headers.get("Server-Timing") ?? "");
    timings.push({ milliseconds: Math.round(exchange.milliseconds), phases });
  }
  return timings.toSorted((left, right) => left.milliseconds - right.milliseconds)[Math.floor(count / 2)] ?? null;
}

/** The phases that the service names. Others, which proxies add, are left out. */
const PHASES: ReadonlySet<string> = new Set(["validate", "origin", "queue", "start", "files", "compile", "archive"]);

/** The durations of a `Server-Timing` field in milliseconds (https://www.w3.org/TR/server-timing/). */
export function serverTiming(field: string): Readonly<Record<string, number>> {
  const entries = field
    .slice(0, 2000)
    .split(",")
    .flatMap((metric) => {
      const name = metric.split(";")[0]?.trim() ?? "";
      const duration = /;\s*dur="?([\d.]+)/i.exec(metric)?.[1];
      return PHASES.has(name) && duration !== undefined
        ? [[name, Math.round(Number(duration) * 10) / 10] as const]
        : [];
    });
  return Object.fromEntries(entries);
}
