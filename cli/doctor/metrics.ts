/**
 * What the edge's `/metrics` says about its origins, where it is open. It is read after the renders, so that they are in it.
 */
import { setTimeout as delay } from "node:timers/promises";
import { TYPST_VERSION } from "../../machine/typst-release.mjs";
import { type Exchange, isOk } from "./answers.ts";
import { check, found, group, ok, skipped } from "./check.ts";
import type { Examination } from "./examination.ts";
import { BACKEND_LOG, EDGE_SECRETS, EDGE_SETTINGS, failure, OTHER_RELEASE, SAME_RELEASE, warning } from "./faults.ts";
import { type MetricSample, samplesIn, sumOf } from "./metrics-text.ts";
import { SMALL_RENDER } from "./renders.ts";

/** Renders for each origin between two readings: enough that one reaches each, however the edge chooses. */
const RENDERS_PER_ORIGIN = 3;
const MAX_RENDERS = 9;
/** As the alert QueueIsLong has it. */
const MAX_WAITING_PER_SLOT = 4;
const CLOSED_STATUSES: ReadonlySet<number> = new Set([401, 403, 404]);

export const METRICS = group("Origins, by the edge's metrics", [
  check("metrics", {
    title: "/metrics can be read",
    looksAt: "The edge's metrics in the Prometheus text format; where they are closed, what needs them is skipped",
    needs: ["health"],
    faults: {
      rejected: failure`The token of --metrics-token-file is not among SERVICE_METRICS_TOKENS of this edge.
        → Compare it with the secret of the environment that serves this URL.`,
      "no-metrics": failure`
        The response has no metric of the service: a proxy answers this path itself, or this is another version.
        → Route /metrics to the edge, or close it there.`,
    },
    async run(_edge, examination) {
      const exchange = await askForMetrics(examination);
      if (exchange.kind === "no-answer") return exchange;
      const { status } = exchange;
      if (examination.target.metricsToken !== "" && status === 403) return found("rejected", "403");
      if (CLOSED_STATUSES.has(status)) return skipped(`closed to this caller (${status})`);
      if (!isOk(exchange)) return exchange;
      // An edge without origins has the line that describes it, and no sample.
      if (!exchange.body.includes("service_origin_up")) return found("no-metrics", "no service_origin_up");
      examination.metrics = metricsIn(exchange);
      return ok(`${examination.metrics.length} samples`);
    },
  }),
  check("origins-up", {
    title: "the edge reaches its origins",
    looksAt: "`service_origin_up` is 1 for each origin, and each has a backend's metrics",
    needs: ["metrics"],
    faults: {
      none: failure`The edge has no origins: SERVICE_BACKEND_URLS is empty. → Set it: ${EDGE_SETTINGS}.`,
      down: failure`
        The edge cannot reach this origin: it is not running, or tunnel, firewall, name or certificate is wrong.
        → Ask its /health from the edge's side of the network; read its log: ${BACKEND_LOG}.`,
      "all-down": failure`
        The edge reaches none of its origins: none is running, or the network is broken, and every render fails.
        → Ask /health of one from the edge's side of the network; read its log: ${BACKEND_LOG}.`,
      "is-edge": failure`The origin is an edge, not a backend: it takes no render without a caller's token.
        → Name the backends themselves in SERVICE_BACKEND_URLS: ${EDGE_SETTINGS}.`,
      "rejects-token": failure`
        The origin rejects the edge: SERVICE_BACKEND_TOKEN is not among its SERVICE_BACKEND_TOKENS.
        → Give the edge one of them: ${EDGE_SECRETS}.`,
      "not-a-backend": failure`
        Something else answers at this origin's address: a proxy's page, or another service.
        → Check its entry in SERVICE_BACKEND_URLS and what listens there; --origin shows what it answers.`,
    },
    async run(_edge, examination) {
      const samples = samplesOf(examination, "service_origin_up");
      if (samples.length === 0) return found("none", "no origin");
      const origins = samples.map(originOf);
      const down = samples.filter(({ value }) => value !== 1).map(originOf);
      const measured = { origins: origins.length, originsUp: origins.length - down.length };
      const seenDown = `${down.join(", ")} of ${origins.length} down`;
      if (down.length === origins.length) return found("all-down", seenDown, measured);
      const edges = new Set(examination.metrics.filter(isOfAnotherEdge).map(originOf));
      if (edges.size > 0) return found("is-edge", [...edges].join(", "), measured);
      if (down.length > 0) return found("down", seenDown, measured);
      const backends = new Set(samplesOf(examination, "service_backend_info").map(originOf));
      const others = origins.filter((origin) => !backends.has(origin));
      if (others.length > 0) return found("not-a-backend", others.join(", "), measured);
      const rejecting =
        examination.rendersObstacle === "no origin renders" ? await risingAt(examination, isRejection) : [];
      if (rejecting.length > 0) return found("rejects-token", rejecting.join(", "), measured);
      return ok(origins.join(", "), measured);
    },
  }),
  check("limits-agree", {
    title: "edge and origins have the same limits",
    looksAt:
      "`service_limits_mismatches_total` is 0, or at least does not rise with further renders, some seconds later",
    needs: ["metrics", "token"],
    faults: {
      differ: failure`
        An origin has other SERVICE_MAX_ limits than the edge, or a release with a new limit is half deployed.
        → Set the same limits for the edge and for all backends, and restart those.`,
      differed: warning`
        Since it started, an origin has had requests from an edge with other limits, but none just now.
        → Nothing, if a deployment has just changed limits; otherwise look for a second edge.`,
    },
    async run(_edge, examination) {
      const total = sumOf(examination.metrics, "service_limits_mismatches_total") ?? 0;
      if (total === 0) return ok("no mismatch");
      const names = await risingAt(examination, ({ name }) => name === "service_limits_mismatches_total");
      if (names.length > 0) return found("differ", `mismatches at ${names.join(", ")}`);
      return found("differed", `${total} mismatches before`);
    },
  }),
  check("typst-versions", {
    title: "all origins have the same Typst",
    looksAt: "The versions in `service_backend_info`, against each other and against the one that this program knows",
    needs: ["metrics"],
    faults: {
      differ: failure`Backends of different releases run side by side: the same request gives different documents.
        → ${SAME_RELEASE}`,
      other: OTHER_RELEASE,
    },
    run(_edge, examination) {
      const infos = samplesOf(examination, "service_backend_info");
      if (infos.length === 0) return skipped("no backend says its version");
      const seen = infos.map((info) => `${originOf(info)}: ${info.labels.typst_version}`).join(", ");
      const versions = new Set(infos.map(({ labels }) => labels.typst_version));
      return found(versions.size > 1 ? "differ" : versions.has(TYPST_VERSION) ? null : "other", seen);
    },
  }),
  check("sandboxes", {
    title: "all origins render in a sandbox",
    looksAt: "`sandbox` of `service_backend_info` is not `none`",
    needs: ["metrics"],
    faults: {
      off: failure`SERVICE_SANDBOX is none there: nothing but Typst itself confines the templates of callers.
        → Set it to bubblewrap or landlock (docs/operations.md, Sandbox).`,
    },
    run(_edge, examination) {
      const infos = samplesOf(examination, "service_backend_info");
      if (infos.length === 0) return skipped("no backend says its sandbox");
      const off = infos.filter(({ labels }) => labels.sandbox === "none").map(originOf);
      if (off.length > 0) return found("off", off.join(", "));
      return ok([...new Set(infos.map(({ labels }) => labels.sandbox))].join(", "));
    },
  }),
  check("slots", {
    title: "slots and queue",
    looksAt: "`service_render_slots`, `service_renders_running` and `service_renders_waiting` of all origins",
    needs: ["metrics"],
    faults: {
      queue: warning`
        More than ${String(MAX_WAITING_PER_SLOT)} requests wait for each slot: the deployment is too small for its load.
        → Add origins, or raise SERVICE_MAX_CONCURRENT_RENDERS if cores are idle.`,
    },
    run(_edge, { metrics }) {
      const [slots, running, waiting] = ["render_slots", "renders_running", "renders_waiting"].map((name) =>
        sumOf(metrics, `service_${name}`),
      );
      if (slots == null || running == null || waiting == null) return skipped("no backend says its slots");
      const isLong = waiting > MAX_WAITING_PER_SLOT * slots;
      const seen = `${running} of ${slots} slots taken, ${waiting} requests waiting`;
      return found(isLong ? "queue" : null, seen, { slots, running, waiting });
    },
  }),
]);

/** Asks the edge for its metrics, with their own token if one is known. */
function askForMetrics({ edge, target: { metricsToken } }: Examination): Promise<Exchange> {
  return edge.get("metrics", metricsToken === "" ? {} : { Authorization: `Bearer ${metricsToken}` });
}

export function metricsIn(exchange: Exchange): readonly MetricSample[] {
  return isOk(exchange) ? samplesIn(exchange.body.toString("utf8")) : [];
}

/** What the origins themselves say, without what an edge among them says of its own. */
function samplesOf({ metrics }: Examination, family: string): readonly MetricSample[] {
  return metrics.filter((sample) => sample.name === family && !isOfAnotherEdge(sample));
}

function isOfAnotherEdge({ labels }: MetricSample): boolean {
  return "exported_origin" in labels;
}

/** A render whose backend token was not accepted. */
function isRejection({ name, labels }: MetricSample): boolean {
  return name === "service_render_requests_total" && labels.outcome === "forbidden";
}

/** The origins where these counters rise with further renders, some seconds later. */
async function risingAt(examination: Examination, isCounted: (sample: MetricSample) => boolean): Promise<string[]> {
  const before = countsIn(examination.metrics, isCounted);
  await examination.allowance.attempt((signal) => delay(examination.metricsAgeMilliseconds, undefined, { signal }));
  const renders = Math.min(MAX_RENDERS, RENDERS_PER_ORIGIN * before.size);
  for (let sent = 0; sent < renders && examination.rendersObstacle !== "renders are not answered"; sent++) {
    await examination.render(SMALL_RENDER);
  }
  const now = countsIn(metricsIn(await askForMetrics(examination)), isCounted);
  return [...now].filter(([origin, count]) => count > (before.get(origin) ?? 0)).map(([origin]) => origin);
}

/** The sum of these counters at each origin. */
function countsIn(samples: readonly MetricSample[], isCounted: (sample: MetricSample) => boolean): Map<string, number> {
  const counts = new Map<string, number>();
  for (const sample of samples.filter(isCounted)) {
    counts.set(originOf(sample), (counts.get(originOf(sample)) ?? 0) + sample.value);
  }
  return counts;
}

function originOf({ labels }: MetricSample): string {
  return labels.origin ?? "unnamed";
}
