/**
 * What the edge's `/metrics` says about its origins, where it is open. It is read after the renders, so that they are in it.
 */
import { TYPST_VERSION } from "../../machine/typst-release.mjs";
import { faultIn, isAnswer } from "./answer-faults.ts";
import { type CheckGroup, deploymentCheck, found, ok, skipped } from "./check.ts";
import type { Examination } from "./examination.ts";
import { type MetricSample, samplesIn, sumOf } from "./metrics-text.ts";
import type { Exchange } from "./probe.ts";
import { SMALL_RENDER } from "./renders.ts";
import { BACKEND_LOG, EDGE_SECRETS, EDGE_SETTINGS } from "./ways-to-deploy.ts";

/** Renders for each origin between two readings: enough that one reaches each, however the edge chooses. */
const RENDERS_PER_ORIGIN = 3;
const MAX_RENDERS = 9;
/** As the alert QueueIsLong has it. */
const MAX_WAITING_PER_SLOT = 4;
const CLOSED_STATUSES: ReadonlySet<number> = new Set([401, 403, 404]);

const metrics = deploymentCheck({
  id: "metrics",
  title: "/metrics can be read",
  looksAt: "The edge's metrics in the Prometheus text format; where they are closed, what needs them is skipped",
  needs: ["health"],
  faults: {
    rejected: {
      severity: "failure",
      cause: "The token of --metrics-token-file is not among SERVICE_METRICS_TOKENS of this edge.",
      advice: "Compare it with the secret of the environment that serves this URL.",
    },
    "no-metrics": {
      severity: "failure",
      cause: "The answer has no metric of the service: a proxy answers this path itself, or this is another version.",
      advice: "Route /metrics to the edge, or close it there.",
    },
  },
  async run(examination) {
    const exchange = await examination.askForMetrics();
    if (examination.target.metricsToken !== "" && isAnswer(exchange, 403)) return found("rejected", "403");
    if (exchange.kind === "answer" && CLOSED_STATUSES.has(exchange.status)) {
      return skipped(`closed to this caller (${exchange.status})`);
    }
    const samples = metricsIn(exchange);
    if (samples === null) return faultIn(exchange);
    // An edge without origins has the line that describes it, and no sample.
    const isOfEdge = exchange.kind === "answer" && exchange.body.includes("service_origin_up");
    if (!isOfEdge) return found("no-metrics", "no service_origin_up");
    examination.metrics = samples;
    return ok(`${samples.length} samples`);
  },
});

const originsUp = deploymentCheck({
  id: "origins-up",
  title: "the edge reaches its origins",
  looksAt: "`service_origin_up` is 1 for each origin, and each has a backend's metrics",
  needs: ["metrics"],
  faults: {
    none: {
      severity: "failure",
      cause: "The edge has no origins: SERVICE_BACKEND_URLS is empty.",
      advice: `Set it: ${EDGE_SETTINGS}.`,
    },
    down: {
      severity: "failure",
      cause: "The edge cannot reach this origin: it does not run, or tunnel, firewall, name or certificate is wrong.",
      advice: `Ask its /health from the edge's side of the network; read its log: ${BACKEND_LOG}.`,
    },
    "all-down": {
      severity: "failure",
      cause:
        "The edge reaches none of its origins: none runs, or the network to them is broken, and every render fails.",
      advice: `Ask /health of one from the edge's side of the network; read its log: ${BACKEND_LOG}.`,
    },
    "is-edge": {
      severity: "failure",
      cause: "The origin is an edge, not a backend: it takes no render without a caller's token.",
      advice: `Name the backends themselves in SERVICE_BACKEND_URLS: ${EDGE_SETTINGS}.`,
    },
    "rejects-token": {
      severity: "failure",
      cause: "The origin rejects the edge: SERVICE_BACKEND_TOKEN is not among its SERVICE_BACKEND_TOKENS.",
      advice: `Give the edge one of them: ${EDGE_SECRETS}.`,
    },
    "not-a-backend": {
      severity: "failure",
      cause: "Something else answers at this origin's address: a proxy's page, or another service.",
      advice: "Check its entry in SERVICE_BACKEND_URLS and what listens there; --origin shows what it answers.",
    },
  },
  async run(examination) {
    const samples = examination.metrics ?? [];
    const origins = samplesOf(examination, "service_origin_up");
    if (origins.length === 0) return found("none", "no origin");
    const down = origins.filter(({ value }) => value !== 1).map(originOf);
    const measured = { origins: origins.length, originsUp: origins.length - down.length };
    const seenDown = `${down.join(", ")} of ${origins.length} down`;
    if (down.length === origins.length) return found("all-down", seenDown, measured);
    const edges = new Set(samples.filter(({ labels }) => "exported_origin" in labels).map(originOf));
    if (edges.size > 0) return found("is-edge", [...edges].join(", "), measured);
    if (down.length > 0) return found("down", seenDown, measured);
    const backends = new Set(samplesOf(examination, "service_backend_info").map(originOf));
    const others = origins.map(originOf).filter((origin) => !backends.has(origin));
    if (others.length > 0) return found("not-a-backend", others.join(", "), measured);
    if (examination.rendersObstacle === "no origin renders") {
      const rejecting = await risingAt(examination, isRejection);
      if (rejecting.length > 0) return found("rejects-token", rejecting.join(", "), measured);
    }
    return ok(origins.map(originOf).join(", "), measured);
  },
});

const limitsAgree = deploymentCheck({
  id: "limits-agree",
  title: "edge and origins have the same limits",
  looksAt: "`service_limits_mismatches_total` is 0, or at least does not rise with further renders, some seconds later",
  needs: ["metrics", "token"],
  faults: {
    differ: {
      severity: "failure",
      cause: "An origin has other SERVICE_MAX_ limits than the edge, or a release with a new limit is half deployed.",
      advice: "Set the same limits for the edge and for all backends, and restart those.",
    },
    differed: {
      severity: "warning",
      cause: "Since it started, an origin has had requests from an edge with other limits, but none just now.",
      advice: "Nothing, if a deployment has just changed limits; otherwise look for a second edge.",
    },
  },
  async run(examination) {
    const total = sumOf(examination.metrics ?? [], "service_limits_mismatches_total") ?? 0;
    if (total === 0) return ok("no mismatch");
    const names = await risingAt(examination, ({ name }) => name === "service_limits_mismatches_total");
    if (names.length > 0) return found("differ", `mismatches at ${names.join(", ")}`);
    return found("differed", `${total} mismatches before`);
  },
});

/** A render whose backend token was not accepted. */
function isRejection({ name, labels }: MetricSample): boolean {
  return name === "service_render_requests_total" && labels.outcome === "forbidden";
}

/** The origins where these counters rise with further renders, some seconds later. */
async function risingAt(examination: Examination, isCounted: (sample: MetricSample) => boolean): Promise<string[]> {
  const before = countsIn(examination.metrics ?? [], isCounted);
  await examination.waitForMetrics();
  const renders = Math.min(MAX_RENDERS, RENDERS_PER_ORIGIN * before.size);
  for (let sent = 0; sent < renders && examination.rendersObstacle !== "renders are not answered"; sent++) {
    await examination.render(SMALL_RENDER);
  }
  const now = countsIn(metricsIn(await examination.askForMetrics()) ?? [], isCounted);
  return [...now].filter(([origin, count]) => count > (before.get(origin) ?? 0)).map(([origin]) => origin);
}

/** The sum of these counters at each origin. */
function countsIn(samples: readonly MetricSample[], isCounted: (sample: MetricSample) => boolean): Map<string, number> {
  const counts = new Map<string, number>();
  for (const sample of samples.filter(isCounted)) {
    const origin = originOf(sample);
    counts.set(origin, (counts.get(origin) ?? 0) + sample.value);
  }
  return counts;
}

const typstVersions = deploymentCheck({
  id: "typst-versions",
  title: "all origins have the same Typst",
  looksAt: "The versions in `service_backend_info`, against each other and against the one that this program knows",
  needs: ["metrics"],
  faults: {
    differ: {
      severity: "failure",
      cause: "Backends of different releases run side by side: the same request gives different documents.",
      advice: "Finish the deployment: one release on all backends.",
    },
    other: {
      severity: "warning",
      cause: "The deployment is of another release than this program.",
      advice: "Deploy the version of this checkout, or use the doctor of that version.",
    },
  },
  async run(examination) {
    const infos = samplesOf(examination, "service_backend_info");
    if (infos.length === 0) return skipped("no backend says its version");
    const seen = infos.map((info) => `${originOf(info)}: ${info.labels.typst_version}`).join(", ");
    const versions = new Set(infos.map(({ labels }) => labels.typst_version));
    if (versions.size > 1) return found("differ", seen);
    return versions.has(TYPST_VERSION) ? ok(`Typst ${TYPST_VERSION}`) : found("other", `${seen}, not ${TYPST_VERSION}`);
  },
});

const sandboxes = deploymentCheck({
  id: "sandboxes",
  title: "all origins render in a sandbox",
  looksAt: "`sandbox` of `service_backend_info` is not `none`",
  needs: ["metrics"],
  faults: {
    off: {
      severity: "failure",
      cause: "SERVICE_SANDBOX is none there: nothing but Typst itself confines the templates of callers.",
      advice: "Set it to bubblewrap or landlock (docs/operations.md, Sandbox).",
    },
  },
  async run(examination) {
    const infos = samplesOf(examination, "service_backend_info");
    if (infos.length === 0) return skipped("no backend says its sandbox");
    const off = infos.filter(({ labels }) => labels.sandbox === "none").map(originOf);
    if (off.length > 0) return found("off", off.join(", "));
    return ok([...new Set(infos.map(({ labels }) => labels.sandbox))].join(", "));
  },
});

const slots = deploymentCheck({
  id: "slots",
  title: "slots and queue",
  looksAt: "`service_render_slots`, `service_renders_running` and `service_renders_waiting` of all origins",
  needs: ["metrics"],
  faults: {
    queue: {
      severity: "warning",
      cause: `More than ${MAX_WAITING_PER_SLOT} requests wait for each slot: the deployment is too small for its load.`,
      advice: "Add origins, or raise SERVICE_MAX_CONCURRENT_RENDERS if cores are idle.",
    },
  },
  async run({ metrics: samples }) {
    const [slotCount, running, waiting] = [
      "service_render_slots",
      "service_renders_running",
      "service_renders_waiting",
    ].map((name) => sumOf(samples ?? [], name));
    if (slotCount == null || running == null || waiting == null) return skipped("no backend says its slots");
    const seen = `${running} of ${slotCount} slots taken, ${waiting} requests waiting`;
    const measured = { slots: slotCount, running, waiting };
    return waiting > MAX_WAITING_PER_SLOT * slotCount ? found("queue", seen, measured) : ok(seen, measured);
  },
});

export const ORIGINS_BY_METRICS: CheckGroup = {
  name: "Origins, by the edge's metrics",
  checks: [metrics, originsUp, limitsAgree, typstVersions, sandboxes, slots],
};

export function metricsIn(exchange: Exchange): readonly MetricSample[] | null {
  return isAnswer(exchange, 200) ? samplesIn(exchange.body.toString("utf8")) : null;
}

/** What the origins themselves say, without what an edge among them says of its own. */
function samplesOf({ metrics: samples }: Examination, family: string): readonly MetricSample[] {
  return (samples ?? []).filter(({ name, labels }) => name === family && !("exported_origin" in labels));
}

function originOf({ labels }: MetricSample): string {
  return labels.origin ?? "unnamed";
}
