/**
 * What the edge's `/metrics` says about its origins, if the doctor may read it. It is read after the renders, so that
 * it counts them.
 */
import { setTimeout as delay } from "node:timers/promises";
import { TYPST_VERSION } from "../../../typst/typst-release.mjs";
import { type Exchange, isOk } from "./answers.ts";
import { check, found, group, ok, skipped } from "./check.ts";
import type { Examination } from "./examination.ts";
import {
  BACKEND_LOG,
  DISK_FULL,
  EDGE_SECRETS,
  EDGE_SETTINGS,
  failure,
  MIXED_RELEASES,
  OTHER_RELEASE,
  PROCESS_LIMIT,
  warning,
} from "./faults.ts";
import { type MetricSample, metricsIn, sumOf } from "./metrics-text.ts";
import { SMALL_RENDER } from "./renders.ts";

/** Renders for each origin between two readings: enough to reach each origin, whatever the edge chooses. */
const RENDERS_PER_ORIGIN = 3;
const MAX_RENDERS = 9;
/** The threshold of the alert QueueIsLong. */
const MAX_WAITING_PER_SLOT = 4;
/** With less free space than this, a backend is not ready. */
const FULL_DISK_BYTES = 1024 ** 2;
/** The threshold of the alert ProcessesAreShort. */
const MAX_PROCESSES_SHARE = 0.8;
const CLOSED_STATUSES: ReadonlySet<number> = new Set([401, 403, 404]);

export const METRICS = group("Origins, by the edge's metrics", "metrics", [
  check("metrics", "/metrics can be read", {
    needs: ["health"],
    faults: {
      rejected: failure`The token of --metrics-token-file is not among SERVICE_METRICS_TOKENS of this edge.
        → Compare it with the secret of the environment that serves this URL.`,
      "no-metrics": failure`A proxy or another version answers. → Route /metrics to the edge, or close it there.`,
    },
    async run(_edge, examination) {
      const exchange = await askForMetrics(examination);
      if (exchange.kind === "no-answer") return exchange;
      const { status } = exchange;
      if (examination.target.metricsToken !== "" && status === 403) return found("rejected", "403");
      if (CLOSED_STATUSES.has(status)) return skipped(`closed to this caller (${status})`);
      if (!isOk(exchange)) return exchange;
      // An edge without origins still describes this metric, but has no sample of it.
      if (!exchange.body.includes("service_origin_up")) return found("no-metrics", "no service_origin_up");
      examination.metrics = metricsIn(exchange);
      return ok(`${examination.metrics.length} samples`);
    },
  }),
  check("origins-up", "the edge reaches its origins, and each is a backend", {
    faults: {
      none: failure`The edge has no origins: SERVICE_BACKEND_URLS is empty, or DNS names none.
        → Set it: ${EDGE_SETTINGS}; for srv: names, read the edge's log.`,
      absent: warning`This origin has never answered the edge since that started: it does not run yet, or its entry is wrong.
        → Start it, or check or remove its entry in SERVICE_BACKEND_URLS: ${EDGE_SETTINGS}.`,
      down: failure`The edge cannot reach this origin: it is down, or tunnel, firewall, name or certificate is wrong.
        → Ask its /health from the edge's side of the network; read its log: ${BACKEND_LOG}.`,
      "all-down": failure`The edge reaches none of its origins: all are down, or the network is. Every render fails.
        → Ask /health of one from the edge's side of the network; read its log: ${BACKEND_LOG}.`,
      "is-edge": failure`The origin is an edge, not a backend: it takes no render without a caller's token.
        → Name the backends themselves in SERVICE_BACKEND_URLS: ${EDGE_SETTINGS}.`,
      "rejects-token": failure`The origin rejects the edge: its SERVICE_BACKEND_TOKENS lack SERVICE_BACKEND_TOKEN.
        → Give the edge one of them: ${EDGE_SECRETS}.`,
      "not-a-backend": failure`Something else answers at this origin's address: a proxy's page, or another service.
        → Check its entry in SERVICE_BACKEND_URLS and what listens there; --origin shows what it answers.`,
    },
    async run(_edge, examination) {
      const samples = samplesOf(examination, "service_origin_up");
      const absent = samplesOf(examination, "service_origin_absent").map(originOf);
      const origins = [...samples.map(originOf), ...absent];
      if (origins.length === 0) return found("none", "no origin");
      const down = [...samples.filter(({ value }) => value !== 1).map(originOf), ...absent];
      const measured = { origins: origins.length, originsUp: origins.length - down.length };
      const seenDown = `${down.join(", ")} of ${origins.length} down`;
      if (down.length === origins.length) return found("all-down", seenDown, measured);
      const edges = new Set(examination.metrics.filter(isOfAnotherEdge).map(originOf));
      if (edges.size > 0) return found("is-edge", [...edges].join(", "), measured);
      if (down.length > absent.length) return found("down", seenDown, measured);
      const backends = new Set(samplesOf(examination, "service_backend_info").map(originOf));
      const others = samples.map(originOf).filter((origin) => !backends.has(origin));
      if (others.length > 0) return found("not-a-backend", others.join(", "), measured);
      const rejecting = examination.isWithoutOrigin ? await risingAt(examination, isRejection) : [];
      if (rejecting.length > 0) return found("rejects-token", rejecting.join(", "), measured);
      if (absent.length > 0) return found("absent", `${absent.join(", ")} of ${origins.length}`, measured);
      return ok(origins.join(", "), measured);
    },
  }),
  check("limits-agree", "no origin gets requests with other limits", {
    needs: ["metrics", "token"],
    faults: {
      differ: failure`An origin has other SERVICE_MAX_ limits than the edge, or a release is half deployed.
        → Set the same limits for the edge and for all backends, and restart the backends.`,
      differed: warning`Since it started, an origin has had requests from an edge with other limits, but none just now.
        → Nothing, if a deployment has just changed limits; otherwise look for a second edge.`,
    },
    async run(_edge, examination) {
      const total = sumOf(examination.metrics, "service_limits_mismatches_total") ?? 0;
      if (total === 0) return ok("no mismatch");
      const names = await risingAt(examination, isMismatch);
      if (names.length > 0) return found("differ", `mismatches at ${names.join(", ")}`);
      return found("differed", `${total} mismatches before`);
    },
  }),
  check("typst-versions", "all origins have the Typst of this program", {
    faults: {
      differ: failure`${MIXED_RELEASES}`,
      other: OTHER_RELEASE,
    },
    run(_edge, examination) {
      const infos = samplesOf(examination, "service_backend_info");
      if (infos.length === 0) return skipped("no backend reports its version");
      const seen = infos.map((info) => `${originOf(info)}: ${info.labels.typst_version}`).join(", ");
      const versions = new Set(infos.map(({ labels }) => labels.typst_version));
      return found(versions.size > 1 ? "differ" : versions.has(TYPST_VERSION) ? null : "other", seen);
    },
  }),
  check("sandboxes", "all origins render in a sandbox", {
    faults: {
      off: failure`Only Typst itself confines templates there. → Set SERVICE_SANDBOX (docs/operations.md).`,
    },
    run(_edge, examination) {
      const infos = samplesOf(examination, "service_backend_info");
      if (infos.length === 0) return skipped("no backend reports its sandbox");
      const off = infos.filter(({ labels }) => labels.sandbox === "none").map(originOf);
      if (off.length > 0) return found("off", off.join(", "));
      return ok([...new Set(infos.map(({ labels }) => labels.sandbox))].join(", "));
    },
  }),
  check("room", "the origins have disk space and processes for renders", {
    faults: {
      "disk-full": DISK_FULL,
      "disk-short": warning`The disk of the work directory has less space than renders may still use.
        → Free some space there, or lower SERVICE_MAX_TEMP_BYTES.`,
      "process-limit": PROCESS_LIMIT,
    },
    run(_edge, examination) {
      const valuesOf = (name: string) =>
        new Map(samplesOf(examination, `service_${name}`).map((sample) => [originOf(sample), sample.value]));
      const [free, most, reserved, processes, max] = [
        ...["work_directory_free_bytes", "temp_max_bytes", "temp_reserved_bytes"],
        ...["processes", "processes_max"],
      ].map(valuesOf);
      if (free === undefined || free.size === 0) return skipped("no backend reports its disk");
      const named = (isShort: (bytes: number, origin: string) => boolean) =>
        [...free].filter(([origin, bytes]) => isShort(bytes, origin)).map(([origin]) => origin);
      const full = named((bytes) => bytes < FULL_DISK_BYTES);
      if (full.length > 0) return found("disk-full", `${full.join(", ")}: no space left`);
      const crowded = [...(processes ?? [])].filter(
        ([origin, used]) => used > MAX_PROCESSES_SHARE * (max?.get(origin) ?? Number.POSITIVE_INFINITY),
      );
      if (crowded.length > 0) {
        return found(
          "process-limit",
          crowded.map(([origin, used]) => `${origin}: ${used} of ${max?.get(origin)}`).join(", "),
        );
      }
      const short = named((bytes, origin) => bytes < (most?.get(origin) ?? 0) - (reserved?.get(origin) ?? 0));
      if (short.length > 0) return found("disk-short", short.join(", "));
      const least = Math.min(...free.values());
      if (!Number.isFinite(least)) return ok("the disks have no size");
      return ok(`${Math.floor(least / 1024 ** 2)} MiB free`, { freeDiskBytes: least });
    },
  }),
  check("slots", "the queue is short for the number of slots", {
    faults: { queue: warning`Too few slots for the load. → Add origins, or raise SERVICE_MAX_CONCURRENT_RENDERS.` },
    run(_edge, { metrics }) {
      const [slots, running, waiting] = ["render_slots", "renders_running", "renders_waiting"].map((name) =>
        sumOf(metrics, `service_${name}`),
      );
      if (slots == null || running == null || waiting == null) return skipped("no backend reports its slots");
      const isLong = waiting > MAX_WAITING_PER_SLOT * slots;
      const seen = `${running} of ${slots} slots taken, ${waiting} requests waiting`;
      return found(isLong ? "queue" : null, seen, { slots, running, waiting });
    },
  }),
]);

function askForMetrics({ edge, target: { metricsToken } }: Examination): Promise<Exchange> {
  return edge.get("metrics", metricsToken === "" ? {} : { Authorization: `Bearer ${metricsToken}` });
}

/** The samples of the origins themselves, without those that an edge among them reports about its own origins. */
function samplesOf({ metrics }: Examination, family: string): readonly MetricSample[] {
  return metrics.filter((sample) => sample.name === family && !isOfAnotherEdge(sample));
}

const originOf = ({ labels }: MetricSample) => labels.origin ?? "unnamed";
const isOfAnotherEdge = ({ labels }: MetricSample) => "exported_origin" in labels;
const isMismatch = ({ name }: MetricSample) => name === "service_limits_mismatches_total";
/** A render whose backend token was not accepted. */
const isRejection = ({ name, labels }: MetricSample) =>
  name === "service_render_requests_total" && labels.outcome === "forbidden";

/** The origins whose counters rise when further renders are sent, some seconds later. */
async function risingAt(examination: Examination, isCounted: (sample: MetricSample) => boolean): Promise<string[]> {
  const { edge, allowance, metricsAgeMilliseconds } = examination;
  const before = countsIn(examination.metrics, isCounted);
  await delay(metricsAgeMilliseconds, undefined, { signal: allowance.bounds.signal });
  const renders = Math.min(MAX_RENDERS, RENDERS_PER_ORIGIN * before.size);
  for (let sent = 0; sent < renders && !edge.hasRenderTimedOut; sent++) await edge.render(SMALL_RENDER);
  const now = countsIn(metricsIn(await askForMetrics(examination)), isCounted);
  return [...now].filter(([origin, count]) => count > (before.get(origin) ?? 0)).map(([origin]) => origin);
}

function countsIn(samples: readonly MetricSample[], isCounted: (sample: MetricSample) => boolean): Map<string, number> {
  const byOrigin = Map.groupBy(samples.filter(isCounted), originOf);
  return new Map([...byOrigin].map(([origin, own]) => [origin, own.reduce((sum, { value }) => sum + value, 0)]));
}
