/**
 * The alerts and the dashboard under deploy/: every metric that they ask for is there, with the labels that they use.
 */
import { readFile } from "node:fs/promises";
import { beforeAll, describe, expect, it } from "vitest";
import { type MetricSample, parseMetrics } from "../support/metrics-text.ts";
import { startTestService, type TestService } from "../support/test-service.ts";

/** A metric in a query, with its selector and not followed by more of a name. */
const METRIC = /\b((?:service|process|nodejs)_[a-z0-9_]+)(?:\{([^}]*)\})?/g;
const LABEL = /([a-z_]+)(?=(?:=|!=|=~|!~)")/g;

let service: TestService;
let samples: MetricSample[];

beforeAll(async () => {
  service = await startTestService();
  // Long enough that its memory is seen.
  const source = "#for i in range(200000) { let x = i }\n#lorem(3000)";
  expect((await service.render({ source })).status).toBe(200);
  samples = parseMetrics(await (await service.send("/metrics")).text());
  return () => service.stop();
});

describe.each(["alerts.yml", "grafana-dashboard.json"])("deploy/%s", (name) => {
  /** Its queries: without the texts for people and the values of labels, which name what is no metric. */
  const read = async () => {
    const text = await readFile(new URL(`../../deploy/${name}`, import.meta.url), "utf8");
    return text
      .replace(/^ *(?:summary|description):.*$/gm, "")
      .replaceAll('\\"', '"')
      .replace(/([=!][=~]?)"[^"]*"/g, '$1""');
  };

  it("asks for metrics that the edge offers", async () => {
    const asked = new Set([...(await read()).matchAll(METRIC)].map(([, metric]) => metric));
    expect(asked.size).toBeGreaterThan(5);
    const offered = new Set(samples.map((sample) => sample.name));
    expect([...asked].filter((metric) => metric !== undefined && !offered.has(metric))).toEqual([]);
  });

  it("selects them by labels that they have", async () => {
    for (const [, metric, selector = ""] of (await read()).matchAll(METRIC)) {
      for (const [label] of selector.matchAll(LABEL)) {
        const bearers = samples.filter((sample) => sample.name === metric);
        expect(
          bearers.some((sample) => label in sample.labels),
          `${metric} by ${label}`,
        ).toBe(true);
      }
    }
  });
});
