/**
 * deploy/alerts.yml, by Prometheus' own `promtool test rules`: when each alert fires, and when it must not. In every
 * case all other alerts must be silent.
 */
import { readFileSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { beforeAll, describe, expect, it } from "vitest";
import { locatePromtool, runPromtool } from "../../support/deploy/promtool.ts";

const ALERTS = readFileSync(new URL("../../../deploy/alerts.yml", import.meta.url), "utf8");
/** The annotations are for people, and every expected alert would have to repeat them. */
const RULES = ALERTS.replace(/^ {8}annotations:\n(?: {10}.*\n)*/gm, "");
/** The severity of each alert by its name. */
const SEVERITIES = new Map(
  [...RULES.matchAll(/- alert: (\w+)\n(?:(?! {6}- alert)[^\n]*\n)*? {8}labels: \{ severity: (\w+) \}/g)].map(
    ([, alert = "", severity = ""]) => [alert, severity] as const,
  ),
);

/** Series by name and labels; the values are in promtool's notation, one a minute. */
type Series = Readonly<Record<string, string>>;

/** The label of a backend, and what Prometheus adds at a scrape. */
const label = (origin: string, more = "") => `{origin="${origin}",job="edge",instance="edge:443"${more}}`;
const FIRST = label("backend-1");
const outcome = (name: string, format = "pdf", origin = "backend-1") =>
  `service_render_requests_total${label(origin, `,format="${format}",outcome="${name}"`)}`;
const timeouts = (cause: string) => `service_render_timeouts_total${label("backend-1", `,cause="${cause}"`)}`;
const edgeRefusals = (code: string, cause: string) =>
  `service_edge_refusals_total${label("backend-1", `,code="${code}",cause="${cause}"`)}`;
const duration = (outcomeClass: string, le: string) =>
  `service_render_duration_seconds_bucket${label("backend-1", `,class="${outcomeClass}",le="${le}"`)}`;
const durationCount = (outcomeClass: string) =>
  `service_render_duration_seconds_count${label("backend-1", `,class="${outcomeClass}"`)}`;

/** Renders per minute of which so many take at most five, ten and thirty seconds. */
const durations = (outcomeClass: string, ...[within5, within10, within30]: [number, number, number]): Series => {
  const counts = { "5": within5, "10": within10, "30": within30, "+Inf": within30 };
  const buckets = Object.entries(counts).map(([le, count]) => [duration(outcomeClass, le), `0+${count}x${LENGTH}`]);
  return Object.fromEntries([...buckets, [durationCount(outcomeClass), `0+${within30}x${LENGTH}`]]);
};

const LENGTH = 120;

/** What two backends offer that nobody uses. */
function idleService(): Series {
  const flat = (value: number) => `${value}x${LENGTH}`;
  const backends = ["backend-1", "backend-2"].map((origin) => {
    const own = label(origin);
    return {
      [`service_origin_up${own}`]: flat(1),
      [`service_backend_info${label(origin, ',sandbox="bubblewrap",typst_version="0.15.1"')}`]: flat(1),
      [`process_start_time_seconds${own}`]: flat(1_700_000_000),
      [outcome("ok", "pdf", origin)]: flat(0),
      [outcome("render_failed", "pdf", origin)]: flat(0),
      [outcome("service_unavailable", "none", origin)]: flat(0),
      [outcome("forbidden", "none", origin)]: flat(0),
      [outcome("render_queue_full", "pdf", origin)]: flat(0),
      [outcome("template_compile_failed", "pdf", origin)]: flat(0),
      [`service_render_slots${own}`]: flat(2),
      [`service_renders_waiting${own}`]: flat(0),
      [`service_temp_max_bytes${own}`]: flat(1000),
      [`service_temp_reserved_bytes${own}`]: flat(0),
      [`service_work_directory_free_bytes${own}`]: flat(1000),
      [`service_processes${own}`]: flat(20),
      [`service_processes_max${own}`]: flat(500),
      [`service_limits_mismatches_total${own}`]: flat(0),
      [`service_trace_spans_lost_total${own}`]: flat(0),
    };
  });
  const first = {
    [timeouts("wall_clock")]: flat(0),
    [timeouts("writing_files")]: flat(0),
    [timeouts("processor_time")]: flat(0),
    ...durations("ok", 0, 0, 0),
  };
  return Object.assign({}, ...backends, first);
}

/** Labels of an alert that fires, without its severity. */
type Firing = readonly [alert: string, labels?: Readonly<Record<string, string>>];

const DEPLOYMENT = { job: "edge" };
const ONE = { ...DEPLOYMENT, origin: "backend-1" };
/** For alerts whose expression keeps the labels of the scrape. */
const SCRAPED = { ...ONE, instance: "edge:443" };

/** After `minutes`, with these series in place of the idle service's or beside them, these alerts fire and no other. */
type Case = readonly [name: string, minutes: number, series: Series, ...firing: readonly Firing[]];

/** What Prometheus adds when it finds these backends and scrapes them. One may be found and not answer. */
const withPods = (...origins: readonly string[]): Series =>
  Object.fromEntries(
    origins.map((origin) => [`up{origin="${origin}",job="backend",instance="${origin}:8788"}`, `1x10 0x${LENGTH}`]),
  );

/** The series of the idle service in another deployment, which Prometheus scrapes as well. */
function otherDeployment(labels: string): Series {
  const renamed = Object.entries(idleService()).map(([series, values]) => [
    series.replace('job="edge"', labels),
    values,
  ]);
  return Object.fromEntries(renamed);
}

/** No traffic but these counts per minute. */
const traffic = (perMinute: number) => ({ [outcome("ok")]: `0+${perMinute}x${LENGTH}` });

const CASES: readonly Case[] = [
  ["an idle service", 60, {}],
  [
    "a busy service whose callers send some invalid requests and templates",
    60,
    {
      ...traffic(600),
      [outcome("template_compile_failed")]: "0+30x120",
      [outcome("invalid_request", "none")]: "0+60x120",
      [outcome("render_timeout")]: "0+1x120",
      [timeouts("processor_time")]: "0+1x120",
    },
  ],
  [
    "one request that is wrong, on an idle service",
    33,
    {
      [outcome("template_compile_failed")]: "0x30 1x90",
      [outcome("render_timeout")]: "0x30 1x90",
      [timeouts("processor_time")]: "0x30 1x90",
    },
  ],
  [
    "a restart of one backend, which is away for a minute and answers two renders with 503",
    34,
    {
      ...traffic(100),
      [`service_origin_up${label("backend-2")}`]: "1x30 0 1x90",
      [`process_start_time_seconds${label("backend-2")}`]: "1700000000x30 _ 1700001900x90",
      [outcome("ok", "pdf", "backend-2")]: "0+100x30 _ 0+100x90",
      [outcome("service_unavailable", "none", "backend-2")]: "0x29 2 _ 0x90",
    },
  ],
  [
    "one failure a minute, on a service with little traffic",
    15,
    { ...traffic(1), [outcome("render_failed")]: "0x10 0+1x110" },
    ["RendersFail", ONE],
  ],
  ["a burst of failures out of nothing", 32, { [outcome("render_failed")]: "0x30 5x90" }, ["RendersFail", ONE]],
  ["two failures in ten minutes", 37, { ...traffic(1), [outcome("render_failed")]: "0x30 1x5 2x90" }],
  [
    "an edge whose metrics are gone",
    21,
    {
      [`service_origin_up${FIRST}`]: "1x10",
      [`service_origin_up${label("backend-2")}`]: "1x10",
    },
    ["EdgeDown", DEPLOYMENT],
  ],
  [
    "an edge that missed one scrape",
    11,
    {
      [`service_origin_up${FIRST}`]: "1x10 stale 1x100",
      [`service_origin_up${label("backend-2")}`]: "1x10 stale 1x100",
    },
  ],
  ["a backend that is down", 13, { [`service_origin_up${FIRST}`]: "1x10 0x110" }, ["BackendDown", SCRAPED]],
  ["a backend that is down for a minute", 12, { [`service_origin_up${FIRST}`]: "1x10 0x110" }],
  [
    "all backends down",
    13,
    {
      [`service_origin_up${FIRST}`]: "1x10 0x110",
      [`service_origin_up${label("backend-2")}`]: "1x10 0x110",
    },
    ["AllBackendsDown", DEPLOYMENT],
    ["BackendDown", SCRAPED],
    ["BackendDown", { ...SCRAPED, origin: "backend-2" }],
  ],
  [
    "a backend that is down, of an edge that has started since",
    23,
    {
      [`service_origin_up${FIRST}`]: "1x10 0x10 _x100",
      [`service_origin_absent${FIRST}`]: "_x20 1x100",
    },
    ["BackendDown", SCRAPED],
  ],
  [
    "a backend that is listed and has never been there",
    60,
    { [`service_origin_absent${label("backend-3")}`]: "1x120" },
  ],
  [
    "a deployment none of whose backends has ever been there",
    15,
    {
      ...Object.fromEntries(Object.keys(idleService()).map((series) => [series, "_x120"])),
      [`service_origin_absent${FIRST}`]: "1x120",
      [`service_origin_absent${label("backend-2")}`]: "1x120",
    },
    ["AllBackendsDown", DEPLOYMENT],
  ],
  [
    "a backend that was scaled away, where Prometheus scrapes the backends too",
    30,
    { ...withPods("backend-1"), [`service_origin_up${label("backend-2")}`]: "1x10 0x110" },
  ],
  [
    "a backend that is down where Prometheus scrapes the backends too",
    13,
    { ...withPods("backend-1", "backend-2"), [`service_origin_up${FIRST}`]: "1x10 0x110" },
    ["BackendDown", SCRAPED],
  ],
  [
    "three renders that a backend rejects because of the edge's token",
    32,
    { [outcome("forbidden", "none")]: "0x30 3x90" },
    ["EdgeRejected", ONE],
  ],
  ["a render with a wrong token, such as the doctor's", 32, { [outcome("forbidden", "none")]: "0x30 1x90" }],
  [
    "an edge that has been gone for two days",
    2 * 24 * 60,
    Object.fromEntries(Object.keys(idleService()).map((series) => [series, "1x10"])),
    ["EdgeDown"],
  ],
  [
    "a backend that was started four times",
    34,
    { [`process_start_time_seconds${FIRST}`]: "1x10 2x10 3x10 4x90" },
    ["BackendRestarts", SCRAPED],
  ],
  [
    "a backend that was started three times, and another program that is always started",
    34,
    {
      [`process_start_time_seconds${FIRST}`]: "1x10 2x10 3x100",
      'process_start_time_seconds{job="node",instance="host:9100"}': "0+1x120",
    },
  ],
  [
    "renders of which one in ten takes longer than ten seconds",
    30,
    {
      ...traffic(100),
      ...durations("ok", 90, 90, 100),
    },
    ["RendersAreSlow", ONE],
  ],
  [
    "a few slow renders among few others",
    30,
    {
      ...traffic(1),
      ...durations("ok", 0, 0, 1),
    },
  ],
  [
    "one request in ten that finds no slot",
    25,
    { ...traffic(9), [outcome("render_queue_full")]: "0x10 0+1x110" },
    ["RequestsShed", ONE],
  ],
  ["one request in fifty that finds no slot", 25, { ...traffic(98), [outcome("render_queue_full")]: "0+2x120" }],
  [
    "one request in ten for whose body the edge has no memory",
    25,
    { ...traffic(9), [edgeRefusals("render_queue_full", "edge_memory")]: "0x10 0+1x110" },
    ["EdgeSheds", DEPLOYMENT],
  ],
  [
    "one request in fifty for whose body the edge has no memory, and many of a caller over its rate",
    25,
    {
      ...traffic(98),
      [edgeRefusals("render_queue_full", "edge_memory")]: "0+2x120",
      [edgeRefusals("render_queue_full", "rate_limit")]: "0+50x120",
    },
  ],
  [
    "three requests that no backend answers",
    36,
    { [edgeRefusals("service_unavailable", "no_backend_answered")]: "0x30 3x90" },
    ["EdgeFails", DEPLOYMENT],
  ],
  [
    "two requests that no backend answers",
    36,
    { [edgeRefusals("service_unavailable", "no_backend_answered")]: "0x30 2x90" },
  ],
  [
    "more than four requests that wait for each slot",
    16,
    { ...traffic(100), [`service_renders_waiting${FIRST}`]: "0x10 9x110" },
    ["QueueIsLong", SCRAPED],
  ],
  ["four requests that wait for each slot", 16, { ...traffic(100), [`service_renders_waiting${FIRST}`]: "0x10 8x110" }],
  [
    "three renders that time out without using the processor, on a service with little traffic",
    32,
    { ...traffic(1), [timeouts("wall_clock")]: "0x30 2x90", [timeouts("writing_files")]: "0x30 1x90" },
    ["MachineIsSlow", ONE],
  ],
  [
    "one render that times out without using the processor",
    32,
    { ...traffic(1), [timeouts("wall_clock")]: "0x30 1x90" },
  ],
  [
    "one render in ten that uses up its processor time",
    30,
    { ...traffic(9), [outcome("render_timeout")]: "0+1x120", [timeouts("processor_time")]: "0+1x120" },
    ["TemplatesTimeOut", ONE],
  ],
  [
    "a disk with less space than renders may reserve",
    16,
    {
      [`service_work_directory_free_bytes${FIRST}`]: "1000x10 899x110",
      [`service_temp_reserved_bytes${FIRST}`]: "100x120",
    },
    ["DiskIsShort", SCRAPED],
  ],
  [
    "a disk with as much space as renders may reserve",
    16,
    {
      [`service_work_directory_free_bytes${FIRST}`]: "900x120",
      [`service_temp_reserved_bytes${FIRST}`]: "100x120",
    },
  ],
  [
    "more than 80 % of the processes that a backend may have",
    16,
    { [`service_processes${FIRST}`]: "400x10 401x110" },
    ["ProcessesAreShort", SCRAPED],
  ],
  ["80 % of the processes that a backend may have", 16, { [`service_processes${FIRST}`]: "400x120" }],
  [
    "temporary space of which more than 90 % is reserved",
    6,
    { [`service_temp_reserved_bytes${FIRST}`]: "901x120" },
    ["TempSpaceIsShort", SCRAPED],
  ],
  ["temporary space of which 90 % are reserved", 6, { [`service_temp_reserved_bytes${FIRST}`]: "900x120" }],
  [
    "a backend without a sandbox",
    1,
    { [`service_backend_info${label("backend-1", ',sandbox="none",typst_version="0.15.1"')}`]: "1x120" },
    ["SandboxOff", { ...SCRAPED, sandbox: "none", typst_version: "0.15.1" }],
  ],
  [
    "a single request by other limits",
    31,
    { [`service_limits_mismatches_total${FIRST}`]: "0x30 1x90" },
    ["LimitsDiffer", SCRAPED],
  ],
  [
    "backends with different fonts for an hour",
    40,
    {
      [`service_capabilities_info${label("backend-1", ',digest="aa"')}`]: "1x120",
      [`service_capabilities_info${label("backend-2", ',digest="bb"')}`]: "1x60 _x60",
      [`service_capabilities_info${label("backend-2", ',digest="aa"')}`]: "_x60 1x60",
    },
    ["InstallationsDiffer", DEPLOYMENT],
  ],
  [
    "backends with different fonts during an update",
    40,
    {
      [`service_capabilities_info${label("backend-1", ',digest="aa"')}`]: "1x20 _x100",
      [`service_capabilities_info${label("backend-1", ',digest="bb"')}`]: "_x20 1x100",
      [`service_capabilities_info${label("backend-2", ',digest="bb"')}`]: "1x120",
    },
  ],
  [
    "traces that have been lost for half an hour",
    30,
    { [`service_trace_spans_lost_total${FIRST}`]: "0+7x120" },
    ["TracesAreLost", SCRAPED],
  ],
  ["traces that were lost once", 20, { [`service_trace_spans_lost_total${FIRST}`]: "0x10 7x110" }],
];

let promtool: string;

beforeAll(async () => {
  promtool = await locatePromtool();
});

describe("deploy/alerts.yml", () => {
  it("is accepted by promtool", async () => {
    const { succeeded, output } = await runPromtool(promtool, ["check", "rules", "alerts.yml"], {
      "alerts.yml": ALERTS,
    });
    expect([succeeded, output]).toEqual([true, expect.stringContaining(`SUCCESS: ${SEVERITIES.size} rules found`)]);
  });

  it("has, for every alert, a case in which it fires and one in which it is silent", () => {
    const alerts = [...SEVERITIES.keys()];
    expect(alerts.length).toBeGreaterThan(10);
    const firing = new Set(CASES.flatMap(([, , , ...firing]) => firing.map(([alert]) => alert)));
    expect(alerts.filter((alert) => !firing.has(alert))).toEqual([]);
  });

  it("links to a section of the page for each alert, and the page has no others", async () => {
    const page = await readFile(new URL("../../../docs/monitoring.md", import.meta.url), "utf8");
    const [, section = ""] = page.split("\n## Alerts\n");
    const [alerts = ""] = section.split("\n## ");
    const headings = [...alerts.matchAll(/^### (\w+)$/gm)].map(([, alert]) => alert);
    expect(headings).toEqual([...SEVERITIES.keys()]);
    const runbooks = [...ALERTS.matchAll(/^ {10}runbook: (.*)$/gm)].map(([, runbook]) => runbook);
    expect(runbooks).toEqual([...SEVERITIES.keys()].map((alert) => `docs/monitoring.md#${alert.toLowerCase()}`));
  });
});

describe("exactly the expected alerts fire for", () => {
  // Other deployments, which are healthy, must neither hide alerts nor add any.
  const others = { ...otherDeployment('job="other"'), ...otherDeployment('job="edge",namespace="other"') };
  const all = CASES.map(([name, minutes, series, ...firing]): Case => {
    return [name, minutes, minutes < LENGTH ? { ...others, ...series } : series, ...firing];
  });
  let verdicts: Map<string, string>;

  // One run for all cases, each of which is a file of its own so that it has its own verdict.
  beforeAll(async () => {
    const names = all.map((_case, index) => `case-${index}.yml`);
    const tests = all.map((one, index) => [names[index] ?? "", testOf(one)] as const);
    const files = { "alerts.yml": RULES, ...Object.fromEntries(tests) };
    const { output } = await runPromtool(promtool, ["test", "rules", ...names], files);
    const said = output.split(/^Unit Testing: +(\S+)\n/m).slice(1);
    verdicts = new Map(names.map((name) => [name, said[said.indexOf(name) + 1]?.trim() ?? output]));
  });

  it.each(all.map(([name], index) => ({ name, file: `case-${index}.yml` })))("$name", ({ file }) => {
    expect(verdicts.get(file)).toBe("SUCCESS");
  });
});

/** What promtool reads for a case. */
function testOf([name, minutes, series, ...firing]: Case): object {
  const alertsOf = (alert: string) =>
    firing
      .filter(([expected]) => expected === alert)
      .map(([, labels = {}]) => ({ exp_labels: { ...labels, severity: SEVERITIES.get(alert) } }));
  return {
    rule_files: ["alerts.yml"],
    // What lasts for days needs no thousands of evaluations.
    evaluation_interval: minutes > LENGTH ? "10m" : "1m",
    tests: [
      {
        name,
        interval: "1m",
        input_series: Object.entries({ ...idleService(), ...series }).map(([series, values]) => ({ series, values })),
        alert_rule_test: [...SEVERITIES.keys()].map((alertname) => ({
          eval_time: `${minutes}m`,
          alertname,
          exp_alerts: alertsOf(alertname),
        })),
      },
    ],
  };
}
