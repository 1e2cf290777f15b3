/** The metrics of several backends in one exposition. */
import { describe, expect, it } from "vitest";
import { formatMetrics, mergeMetrics as gatherMetrics } from "../../../edge/gathered/metrics.ts";

const EXPOSITION = `# HELP renders_total Renders.
# TYPE renders_total counter
renders_total{format="pdf"} 3
# HELP up Up.
# TYPE up gauge
up 1
`;

const mergeMetrics = (...[scrapes, isPublic]: Parameters<typeof gatherMetrics>) =>
  formatMetrics(gatherMetrics(scrapes, isPublic), null);
const listed = (backend: string, text: string | null) => ({ backend, text, state: "listed" }) as const;

describe("merged metrics", () => {
  it("name each family once and distinguish the origins", () => {
    const merged = mergeMetrics([listed("a:1", EXPOSITION), listed("b:2", EXPOSITION)], false);
    expect(
      merged,
    ).toBe(`# HELP service_origin_up Whether the origin answered this scrape, or the last one with time for it.
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

  it("tell one that has never answered, and one that was not asked, from one that is down", () => {
    const merged = mergeMetrics(
      [
        { backend: "a", text: null, state: "absent" },
        listed("b", null),
        { backend: "d", text: null, state: "not asked" },
        listed("c", EXPOSITION),
      ],
      false,
    );
    expect(merged.split("\n").filter((line) => line.startsWith("service_origin"))).toEqual([
      'service_origin_up{origin="b"} 0',
      'service_origin_up{origin="c"} 1',
      'service_origin_absent{origin="a"} 1',
      'service_origin_not_asked{origin="d"} 1',
    ]);
  });

  it("of an origin that is an edge itself keep the names of its origins under another label", () => {
    const inner = mergeMetrics([listed("a", EXPOSITION)], false);
    const outer = mergeMetrics([listed("b", mergeMetrics([listed("edge", inner)], false))], false);
    expect(outer.match(/^# TYPE service_origin_up /gm)).toHaveLength(1);
    expect(outer.match(/^service_origin_up.*$/gm)).toEqual([
      'service_origin_up{origin="b"} 1',
      'service_origin_up{origin="b",exported_origin="edge"} 1',
      'service_origin_up{origin="b",exported_origin="edge",exported_exported_origin="a"} 1',
    ]);
    expect(outer).toContain(
      'renders_total{origin="b",exported_origin="edge",exported_exported_origin="a",format="pdf"} 3',
    );
  });

  it("say what they would tell of origins even if there are none", () => {
    expect(mergeMetrics([], false)).toMatch(/^# HELP service_origin_up .*\n# TYPE service_origin_up gauge\n$/);
  });

  it("drop lines that are not metrics", () => {
    expect(mergeMetrics([listed("a:1", "<html>\nboom 1\n")], false)).not.toContain("boom");
  });

  it.each([
    [true, ""],
    [
      false,
      `# HELP calls_total Calls.
# TYPE calls_total counter
calls_total{origin="a",caller="billing",outcome="ok"} 2
calls_total{origin="a",outcome="ok",caller="b"} 1
`,
    ],
  ])("that anybody may read (%s) name no callers, and no family without samples", (isPublic, family) => {
    const text = `# HELP calls_total Calls.
# TYPE calls_total counter
calls_total{caller="billing",outcome="ok"} 2
calls_total{outcome="ok",caller="b"} 1
`;
    const merged = mergeMetrics([listed("a", text)], isPublic);
    expect(merged.split('service_origin_up{origin="a"} 1\n')[1]).toBe(family);
  });

  it("have what the edge counts itself beside what backends were told by others, each metric once", () => {
    const told = `# HELP service_edge_refusals_total Told.
# TYPE service_edge_refusals_total counter
service_edge_refusals_total{code="service_unavailable",cause="no_backends"} 3
`;
    const own = { get: (name: string) => (name === "no_backends" ? 2 : 0) };
    const text = formatMetrics(gatherMetrics([listed("a", told)], false), own);
    expect(text.match(/^# TYPE service_edge.*$/gm)).toEqual([
      "# TYPE service_edge_refusals_total counter",
      "# TYPE service_edge_attempt_failures_total counter",
    ]);
    expect(text.match(/^service_edge.*no_backends.*$/gm)).toEqual([
      'service_edge_refusals_total{code="service_unavailable",cause="no_backends"} 2',
      'service_edge_refusals_total{origin="a",code="service_unavailable",cause="no_backends"} 3',
    ]);
    expect(text).toContain('service_edge_attempt_failures_total{failure="lost"} 0\n');
  });
});
