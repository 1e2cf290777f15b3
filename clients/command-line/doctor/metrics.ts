/** What the edge's `/metrics` says about its origins, if the doctor may read it: after the renders, which it counts. */
import { type Answer, isOk } from "./answers.ts";
import { type CheckGroup, defineCheck, observe, skipCheck } from "./check.ts";
import { BACKEND_LOG, EDGE_SECRETS, EDGE_SETTINGS, failure, warning } from "./faults.ts";

export const METRICS: CheckGroup = {
  name: "Origins, by the edge's metrics",
  needs: ["health"],
  checks: [
    defineCheck("origins-up", "the origins are up, alike, backends, and in sandboxes", {
      faults: {
        rejected: failure`The token of --metrics-token-file is not among SERVICE_METRICS_TOKENS of this edge.
          → Compare it with the secret of the environment that serves this URL.`,
        "no-metrics": failure`A proxy or another version answers. → Route /metrics to the edge, or close it there.`,
        none: failure`The edge has no origins: SERVICE_BACKEND_URLS is empty, or DNS names none.
          → Set it: ${EDGE_SETTINGS}; for srv: names, read the edge's log.`,
        down: failure`The edge cannot reach this origin: it is down, or tunnel, firewall, name or certificate is wrong.
          → Ask its /health from the edge's side of the network; read its log: ${BACKEND_LOG}.`,
        "not-a-backend": failure`Something else answers at this origin's address: a proxy, an edge, or another service.
          → Check its entry in SERVICE_BACKEND_URLS and what listens there; --origin shows what it answers.`,
        "rejects-token": failure`The origin rejects the edge: its SERVICE_BACKEND_TOKENS lack SERVICE_BACKEND_TOKEN.
          → Give the edge one of them: ${EDGE_SECRETS}.`,
        "no-sandbox": failure`Only Typst itself confines templates there. → Set SERVICE_SANDBOX (docs/operations.md).`,
        absent: warning`This origin has never answered the edge since that started: it does not run yet, or its entry is wrong.
          → Start it, or check or remove its entry in SERVICE_BACKEND_URLS: ${EDGE_SETTINGS}.`,
        "other-limits": warning`Since it started, an origin has had requests from an edge with other SERVICE_MAX_ limits.
          → Set the same limits for the edge and for all backends, and restart the backends, which counts anew.`,
        "other-fonts": warning`Fonts, packages or formats of the origins differ. → Install the same on all backends.`,
      },
      async run(edge, { target: { metricsToken } }) {
        const authorization = metricsToken === "" ? {} : { Authorization: `Bearer ${metricsToken}` };
        const exchange = await edge.get("metrics", authorization);
        const status = exchange.kind === "answer" ? exchange.status : 0;
        if (metricsToken !== "" && status === 403) return observe("rejected", "403");
        if ([401, 403, 404].includes(status)) return skipCheck(`/metrics is closed to this caller (${status})`);
        if (!isOk(exchange)) return exchange;
        // An edge without origins still describes this metric, but has no sample of it.
        if (!exchange.body.includes("service_origin_up")) return observe("no-metrics", "no service_origin_up");
        const samples = samplesIn(exchange);
        const originsOf = (metric: string, isMeant: (sample: Sample) => boolean = () => true): ReadonlySet<string> =>
          new Set(samples.filter((sample) => sample.name === `service_${metric}` && isMeant(sample)).map(originOf));
        const [known, absent] = [originsOf("origin_up"), originsOf("origin_absent")];
        if (known.size + absent.size === 0) return observe("none", "no origin");
        const down = known.size === 0 ? absent : originsOf("origin_up", ({ value }) => value !== 1);
        // The first one with the token, by the check `render-pdf`.
        const rendered = edge.answers.find(({ request, status }) => request.startsWith("POST ") && status !== 403);
        const digests = new Set(samples.flatMap(({ labels }) => labels.digest ?? []));
        const isRejection = ({ labels, value }: Sample) =>
          rendered?.status === 503 && labels.outcome === "forbidden" && value > 0;
        const findings = [
          ["down", down],
          ["not-a-backend", known.difference(originsOf("backend_info"))],
          ["rejects-token", originsOf("render_requests_total", isRejection)],
          ["no-sandbox", originsOf("backend_info", ({ labels }) => labels.sandbox === "none")],
          ["absent", absent],
          ["other-limits", originsOf("limits_mismatches_total", ({ value }) => value > 0)],
          ["other-fonts", digests.size > 1 ? known : new Set<string>()],
        ] as const;
        const [fault, origins] = findings.find(([, wrong]) => wrong.size > 0) ?? [null, known];
        const measured = { origins: known.size + absent.size, originsUp: known.difference(down).size };
        return observe(fault, [...origins].join(", "), measured);
      },
    }),
  ],
};

interface Sample {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

const originOf = ({ labels }: Sample) => labels.origin ?? "unnamed";
const SAMPLE = /^(\w+)\{(.*)\} (\S+)/;
const LABEL = /(\w+)="((?:[^"\\]|\\.)*)"(?:,|$)/gy;

/**
 * The samples with labels of an answer in the Prometheus text format 0.0.4, without those that an edge among the origins
 * reports about its own.
 */
function samplesIn({ body }: Answer): Sample[] {
  return body
    .toString("utf8")
    .split("\n")
    .flatMap((line) => {
      const [, name = "", labelText = "", value] = SAMPLE.exec(line) ?? [];
      const labels = Object.fromEntries(Array.from(labelText.matchAll(LABEL), ([, label, text]) => [label, text]));
      return "origin" in labels && !("exported_origin" in labels) ? [{ name, labels, value: Number(value) }] : [];
    });
}
