/** The metrics of several backends in one exposition. */
import { describe, expect, it } from "vitest";
import { mergeMetrics } from "../../edge/prometheus-text.ts";

const EXPOSITION = `# HELP renders_total Renders.
# TYPE renders_total counter
renders_total{format="pdf"} 3
# HELP up Up.
# TYPE up gauge
up 1
`;

describe("merged metrics", () => {
  it("name each family once and distinguish the origins", () => {
    const merged = mergeMetrics([
      { origin: "a:1", text: EXPOSITION },
      { origin: "b:2", text: EXPOSITION },
    ]);
    expect(merged).toBe(`# HELP service_origin_up Whether the origin answered this scrape.
# TYPE service_origin_up gauge
service_origin_up{origin="a:1"} 1
service_origin_up{origin="b:2"} 1
# HELP renders_total Renders.
# TYPE renders_total counter
renders_total{origin="a:1",format="pdf"} 3
renders_total{origin="b:2",format="pdf"} 3
# HELP up Up.
# TYPE up gauge
up{origin="a:1"} 1
up{origin="b:2"} 1
`);
  });

  it("show an origin that did not answer as down", () => {
    expect(mergeMetrics([{ origin: "a:1", text: null }])).toContain('service_origin_up{origin="a:1"} 0\n');
  });

  it("drop lines that are not metrics", () => {
    expect(mergeMetrics([{ origin: "a:1", text: "<html>\nboom 1\n" }])).not.toContain("boom");
  });
});
