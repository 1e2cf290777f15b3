/**
 * The alerts and the dashboard under deploy/: every metric that they ask for is there, with the labels that they use,
 * and every query of the dashboard has a result on the metrics of the real service. docs/monitoring.md lists these
 * metrics.
 */
import { readFile } from "node:fs/promises";
import { beforeAll, describe, expect, it } from "vitest";
import { locatePromtool, runPromtool } from "../../support/deploy/promtool.ts";
import { type MetricSample, parseMetrics } from "../../support/readers/metrics-text.ts";
import { tableOfPage } from "../../support/readers/page-table.ts";
import { startTestService, type TestService } from "../../support/service/test-service.ts";
import { UNREACHABLE_URL } from "../../support/tokens.ts";

/** A metric in a query, with its selector and not followed by more of a name. */
const METRIC = /\b((?:service|process|nodejs)_[a-z0-9_]+)(?:\{([^}]*)\})?/g;
const LABEL = /([a-z_]+)(?=(?:=|!=|=~|!~)")/g;

const SCRAPER_TOKEN = "token-of-the-scraper";

let service: TestService;
let metrics: string;
let samples: MetricSample[];

beforeAll(async () => {
  // Metrics that are open to everybody name no callers.
  const settings = { SERVICE_METRICS_ACCESS: "token", SERVICE_METRICS_TOKENS: SCRAPER_TOKEN };
  // The second backend is absent.
  service = await startTestService({ settings, otherBackendUrls: [UNREACHABLE_URL] });
  // Long enough that its memory is seen.
  const source = "#for i in range(200000) { let x = i }\n#lorem(3000)";
  expect((await service.render({ source })).status).toBe(200);
  const answer = await service.send("/metrics", { headers: { Authorization: `Bearer ${SCRAPER_TOKEN}` } });
  metrics = await answer.text();
  samples = parseMetrics(metrics);
  return () => service.stop();
});

describe.each(["alerts.yml", "grafana-dashboard.json"])("deploy/%s", (name) => {
  /** Its queries: without the texts for people and the values of labels, which name what is no metric. */
  const read = async () => {
    const text = await readFile(new URL(`../../../deploy/${name}`, import.meta.url), "utf8");
    return text
      .replace(/^ *(?:summary|description):.*$/gm, "")
      .replaceAll('\\"', '"')
      .replace(/([=!][=~]?)"[^"]*"/g, '$1""');
  };

  it("asks only for metrics that the edge has, by labels that they have", async () => {
    const asked = [...(await read()).matchAll(METRIC)];
    expect(asked.length).toBeGreaterThan(5);
    for (const [, metric, selector = ""] of asked) {
      const bearers = samples.filter(({ name }) => name === metric);
      expect(bearers, metric).not.toEqual([]);
      const labels = [...selector.matchAll(LABEL)].map(([label]) => label);
      const unknown = labels.filter((label) => !bearers.some((sample) => label in sample.labels));
      expect(
        unknown.filter((label) => !LABELS_OF_SCRAPES.has(label)),
        metric,
      ).toEqual([]);
    }
  });
});

/** Labels that Prometheus adds: they tell deployments apart. */
const LABELS_OF_SCRAPES: ReadonlySet<string> = new Set(["namespace", "job"]);

/** Labels that the format or the edge adds. */
const ADDED_LABELS: ReadonlySet<string> = new Set(["le", "origin"]);

/** Of a scrape that ran out of time, as test/edge/gathered/metrics.test.ts has it. */
const NOT_SEEN = ["service_origin_not_asked: "];

it("docs/monitoring.md lists every metric of the service with its labels, and no other", async () => {
  const own = samples.filter(({ name }) => name.startsWith("service_"));
  const byMetric = Map.groupBy(own, ({ name }) => name.replace(/_(?:bucket|sum|count)$/, ""));
  const row = (metric: string, labels: readonly string[]) => `${metric}: ${labels.toSorted().join(", ")}`;
  const offered = [...byMetric].map(([metric, bearers]) => {
    const labels = new Set(bearers.flatMap(({ labels }) => Object.keys(labels)));
    return row(metric, [...labels.difference(ADDED_LABELS)]);
  });
  const listed = await tableOfPage("monitoring.md", "## Metrics");
  const rows = listed.map(([metric = "", labels = ""]) => row(metric, labels.split(", ")));
  expect(rows.toSorted()).toEqual([...offered, ...NOT_SEEN].toSorted());
});

interface Dashboard {
  readonly panels: readonly { readonly title: string; readonly targets: readonly { readonly expr: string }[] }[];
}

const SLOTS = "service_render_slots";

/** As two edges of the same backends show them. A counter rises: a query may ask for its rate. */
const series = () =>
  ["edge-1", "edge-2"].flatMap((instance) =>
    samples.map(({ name, labels, value }) => {
      const selector = Object.entries({ job: "edge", instance, ...labels }).map(
        ([label, text]) => `${label}=${JSON.stringify(text)}`,
      );
      const rise = name === SLOTS ? 0 : 1;
      const values = Number.isFinite(value) ? `${value}+${rise}x20` : "0x20";
      return { series: `${name}{${selector.join(",")}}`, values };
    }),
  );

it("promtool finds nothing wrong with the metrics", async () => {
  const checked = await runPromtool(await locatePromtool(), ["check", "metrics"], {}, metrics);
  expect(checked).toEqual({ succeeded: true, output: "" });
});

it("a query of the dashboard has a result, evaluated by promtool on the metrics of a service that has rendered once", async () => {
  const { panels }: Dashboard = JSON.parse(
    await readFile(new URL("../../../deploy/grafana-dashboard.json", import.meta.url), "utf8"),
  );
  const queries = panels.flatMap(({ title, targets }) =>
    targets.map(({ expr }, index) => ({
      // A rule for each, which fires if there is a result.
      alert: `${title} ${index}`,
      expr: `count(${expr.replaceAll("$__rate_interval", "5m").replaceAll(/\$(?:namespace|job|origin)/g, ".*")}) > 0`,
    })),
  );
  expect(queries.length).toBeGreaterThan(20);
  const ofSlots = queries.find(({ expr }) => expr.includes(SLOTS))?.expr ?? "";
  const slots = samples.find(({ name }) => name === SLOTS)?.value;
  queries.push({ alert: "a backend counts once", expr: ofSlots.replace(/^count\((.*)\) > 0$/, `$1 == ${slots}`) });
  const files = {
    "rules.yml": { groups: [{ name: "dashboard", rules: queries }] },
    "tests.yml": {
      rule_files: ["rules.yml"],
      tests: [
        {
          interval: "1m",
          input_series: series(),
          alert_rule_test: queries.map(({ alert }) => ({ eval_time: "15m", alertname: alert, exp_alerts: [{}] })),
        },
      ],
    },
  };
  const { succeeded, output } = await runPromtool(await locatePromtool(), ["test", "rules", "tests.yml"], files);
  expect(succeeded, output).toBe(true);
});
