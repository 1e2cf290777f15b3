/**
 * How long a small render takes, and how long each part of its way.
 */
import { type Answer, type Exchange, isOk } from "./answers.ts";
import { check, found, group, skipped } from "./check.ts";
import { warning } from "./faults.ts";
import { SMALL_RENDER, whyNotSent } from "./renders.ts";

/** Requests of each kind. The median is reported. */
const REQUESTS = 5;
/** Above these, people notice. */
const SLOW_HEALTH_MILLISECONDS = 1000;
export const SLOW_RENDER_MILLISECONDS = 5000;
const SLOW_QUEUE_MILLISECONDS = 1000;

export const LATENCY = group("Latency", "render-pdf", [
  check("latency", "a small render by hop: medians of five", {
    faults: {
      "slow-way": warning`Network and edge take over a second. → Try from another network, and compare with tcp.`,
      "slow-queue": warning`A render waits over a second. → Add slots, or see who uses them (docs/monitoring.md).`,
      "slow-render": warning`A page of one word takes over five seconds: hosts are overloaded, or have just started.
        → Look at load and disk of the backends, and at SERVICE_WARM_RENDERS.`,
    },
    async run(edge, examination) {
      const obstacle = whyNotSent(examination, SMALL_RENDER);
      if (obstacle !== null) return skipped(obstacle);
      const health = await medianOf(REQUESTS, () => edge.get("health"));
      const render = await medianOf(REQUESTS, () => edge.render(SMALL_RENDER));
      if (health === null || render === null) return skipped("not every request was answered");
      const behindEdge = Math.max(0, render.milliseconds - health.milliseconds);
      const phases = serverTiming(render.headers.get("Server-Timing") ?? "");
      const behind = Object.keys(phases).length > 0 ? phases : { "behind the edge": behindEdge };
      const parts = Object.entries({ "network and edge": health.milliseconds, ...behind });
      const seen = `${render.milliseconds} ms: ${parts.map(([name, time]) => `${name} ${time} ms`).join(", ")}`;
      const times = { health: health.milliseconds, render: render.milliseconds, ...phases };
      const measured = Object.fromEntries(Object.entries(times).map(([name, time]) => [`${name}Milliseconds`, time]));
      if (health.milliseconds > SLOW_HEALTH_MILLISECONDS) return found("slow-way", seen, measured);
      if ((phases.queue ?? 0) > SLOW_QUEUE_MILLISECONDS) return found("slow-queue", seen, measured);
      return found(behindEdge > SLOW_RENDER_MILLISECONDS ? "slow-render" : null, seen, measured);
    },
  }),
]);

/** The answer of median duration; null if one of them has another status than 200. */
export async function medianOf(count: number, send: () => Promise<Exchange>): Promise<Answer | null> {
  const answers: Answer[] = [];
  for (let index = 0; index < count; index++) {
    const exchange = await send();
    if (!isOk(exchange)) return null;
    answers.push(exchange);
  }
  return answers.toSorted((left, right) => left.milliseconds - right.milliseconds)[Math.floor(count / 2)] ?? null;
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
