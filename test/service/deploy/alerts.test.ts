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
const SECOND = label("backend-2");
const outcome = (name: string, format = "pdf", origin = "backend-1") =>
  `service_render_requests_total${label(origin, `,format="${format}",outcome="${name}"`)}`;
const timeouts = (cause: string) => `service_render_timeouts_total${label("backend-1", `,cause="${cause}"`)}`;
const edgeRefusals = (code: string, cause: string) =>
  `service_edge_refusals_total${label("backend-1", `,code="${code}",cause="${cause}"`)}`;
/** As an edge of a host tells them itself, whether a backend lives or not. */
const ownRefusals = (edge: string, cause: string, code = "service_unavailable") =>
  `service_edge_refusals_total{job="edge",instance="${edge}:443",code="${code}",cause="${cause}"}`;
const LENGTH = 120;

/** Renders per minute of which so many take at most ten seconds, and all at most thirty. */
function durations(within10: number, all: number, outcomeClass = "ok"): Series {
  const series = (name: string, more: string) =>
    `service_render_duration_seconds_${name}${label("backend-1", `,class="${outcomeClass}"${more}`)}`;
  const buckets = Object.entries({ "10": within10, "30": all, "+Inf": all });
  return Object.fromEntries([
    ...buckets.map(([le, count]) => [series("bucket", `,le="${le}"`), `0+${count}x${LENGTH}`]),
    [series("count", ""), `0+${all}x${LENGTH}`],
  ]);
}

/** What two backends offer that nobody uses. */
function idleService(): Series {
  const constants = ["backend-1", "backend-2"].flatMap((origin): [series: string, value: number][] => {
    const own = label(origin);
    return [
      [`service_origin_up${own}`, 1],
      [`service_backend_info${label(origin, ',sandbox="bubblewrap",typst_version="0.15.1"')}`, 1],
      [`process_start_time_seconds${own}`, 1_700_000_000],
      [`service_backend_follows_crash${own}`, 0],
      [outcome("ok", "pdf", origin), 0],
      [outcome("render_failed", "pdf", origin), 0],
      [outcome("service_unavailable", "none", origin), 0],
      [outcome("forbidden", "none", origin), 0],
      [outcome("render_queue_full", "pdf", origin), 0],
      [outcome("template_compile_failed", "pdf", origin), 0],
      [`service_render_slots${own}`, 2],
      [`service_renders_waiting${own}`, 0],
      [`service_temp_max_bytes${own}`, 1000],
      [`service_temp_reserved_bytes${own}`, 0],
      [`service_work_directory_free_bytes${own}`, 1000],
      [`service_processes${own}`, 20],
      [`service_processes_max${own}`, 500],
      [`service_limits_mismatches_total${own}`, 0],
      [`service_trace_spans_lost_total${own}`, 0],
      [`service_log_lines_dropped_total${own}`, 0],
    ];
  });
  const causes = ["wall_clock", "writing_files", "processor_time"].map((cause) => [timeouts(cause), 0] as const);
  const flat = [...constants, ...causes].map(([series, value]) => [series, `${value}x${LENGTH}`]);
  return { ...Object.fromEntries(flat), ...durations(0, 0) };
}

/** Labels of an alert that fires, without its severity. */
type Firing = readonly [alert: string, labels?: Readonly<Record<string, string>>];

const DEPLOYMENT = { job: "edge" };
const ONE = { ...DEPLOYMENT, origin: "backend-1" };

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

/** What Prometheus has if it scrapes two edges of the same backends. */
function withSecondEdge(series: Series): Series {
  const ofSecond = Object.entries(series).map(([name, values]) => [name.replace('"edge:443"', '"edge-2:443"'), values]);
  return { ...series, ...Object.fromEntries(ofSecond) };
}

/** No traffic but these counts per minute. */
const traffic = (perMinute: number) => ({ [outcome("ok")]: `0+${perMinute}x${LENGTH}` });

const FAILED = outcome("render_failed");
const TEMPLATE_FAILED = outcome("template_compile_failed");
const QUEUE_FULL = outcome("render_queue_full");
const FORBIDDEN = outcome("forbidden", "none");
const UNANSWERED = edgeRefusals("service_unavailable", "no_backend_answered");
const NO_MEMORY = edgeRefusals("render_queue_full", "edge_memory");
const UP = `service_origin_up${FIRST}`;
const OTHER_UP = `service_origin_up${SECOND}`;
const STARTED = `process_start_time_seconds${FIRST}`;
const KILLED = { [`service_backend_follows_crash${FIRST}`]: "0x10 1x110" };
const capabilities = (origin: string, digest: string) =>
  `service_capabilities_info${label(origin, `,digest="${digest}"`)}`;

const CASES: readonly Case[] = [
  [
    "a busy service whose callers send some invalid requests and templates, and leave when a render takes long",
    60,
    {
      ...traffic(600),
      ...durations(600, 600),
      ...durations(0, 100, "client_gone"),
      [TEMPLATE_FAILED]: "0+30x120",
      [outcome("invalid_request", "none")]: "0+60x120",
      [outcome("render_timeout")]: "0+1x120",
      [timeouts("processor_time")]: "0+1x120",
    },
  ],
  [
    "two of whatever can go wrong, on an idle service",
    37,
    {
      [FAILED]: "0x30 1x5 2x90",
      [TEMPLATE_FAILED]: "0x30 2x90",
      [outcome("render_timeout")]: "0x30 2x90",
      [timeouts("processor_time")]: "0x30 2x90",
      [timeouts("wall_clock")]: "0x30 1x90",
      [timeouts("writing_files")]: "0x30 1x90",
      [FORBIDDEN]: "0x30 2x90",
      [QUEUE_FULL]: "0x30 2x90",
      [NO_MEMORY]: "0x30 2x90",
      [UNANSWERED]: "0x30 2x90",
    },
  ],
  [
    "one request in fifty that finds no slot or no memory, and many of a caller over its rate",
    25,
    {
      ...traffic(98),
      [QUEUE_FULL]: "0+2x120",
      [NO_MEMORY]: "0+2x120",
      [edgeRefusals("render_queue_full", "rate_limit")]: "0+50x120",
    },
  ],
  [
    "backends that use as much as they may, and traces that were lost once",
    20,
    {
      [`service_renders_waiting${FIRST}`]: "0x10 8x110",
      [`service_work_directory_free_bytes${FIRST}`]: "900x120",
      [`service_temp_reserved_bytes${FIRST}`]: "100x120",
      [`service_temp_reserved_bytes${SECOND}`]: "900x120",
      [`service_processes${FIRST}`]: "400x120",
      [`service_trace_spans_lost_total${FIRST}`]: "0x10 7x110",
    },
  ],
  [
    "a restart of one backend, which is away for a minute and answers two renders with 503",
    34,
    {
      ...traffic(100),
      [OTHER_UP]: "1x30 0 1x90",
      [`process_start_time_seconds${SECOND}`]: "1700000000x30 _ 1700001900x90",
      [outcome("ok", "pdf", "backend-2")]: "0+100x30 _ 0+100x90",
      [outcome("service_unavailable", "none", "backend-2")]: "0x29 2 _ 0x90",
    },
  ],
  [
    "five of whatever can go wrong, a quarter of an hour ago",
    46,
    Object.fromEntries(
      [FAILED, TEMPLATE_FAILED, FORBIDDEN, QUEUE_FULL, NO_MEMORY, UNANSWERED].map((name) => [name, "0x30 5x90"]),
    ),
  ],
  ["failures of fewer than one render in a thousand", 60, { ...traffic(10_000), [FAILED]: `0+1x${LENGTH}` }],
  ["failures of more", 60, { ...traffic(500), [FAILED]: `0+1x${LENGTH}` }, ["RendersFail", ONE]],
  [
    "a burst of failures out of nothing, in several series",
    32,
    {
      [FAILED]: "0x30 1x90",
      [outcome("service_unavailable")]: "0x30 1x90",
      [outcome("service_unavailable", "none")]: "0x30 1x90",
    },
    ["RendersFail", ONE],
  ],
  ["an edge whose metrics are gone", 21, { [UP]: "1x10", [OTHER_UP]: "1x10" }, ["EdgeDown", DEPLOYMENT]],
  ["an edge that missed one scrape", 11, { [UP]: "1x10 stale 1x100", [OTHER_UP]: "1x10 stale 1x100" }],
  ["a backend that is down", 13, { [UP]: "1x10 0x110" }, ["BackendDown", ONE]],
  ["a backend that is down for a minute", 12, { [UP]: "1x10 0x110" }],
  [
    "all backends down",
    13,
    { [UP]: "1x10 0x110", [OTHER_UP]: "1x10 0x110" },
    ["AllBackendsDown", DEPLOYMENT],
    ["BackendDown", ONE],
    ["BackendDown", { ...ONE, origin: "backend-2" }],
  ],
  [
    "a backend that is down, of an edge that has started since",
    23,
    { [UP]: "1x10 0x10 _x100", [`service_origin_absent${FIRST}`]: "_x20 1x100" },
    ["BackendDown", ONE],
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
      [`service_origin_absent${SECOND}`]: "1x120",
    },
    ["AllBackendsDown", DEPLOYMENT],
  ],
  [
    "a backend that was scaled away, where Prometheus scrapes the backends too",
    30,
    { ...withPods("backend-1"), [OTHER_UP]: "1x10 0x110" },
  ],
  [
    "a backend that is down where Prometheus scrapes the backends too",
    13,
    { ...withPods("backend-1", "backend-2"), [UP]: "1x10 0x110" },
    ["BackendDown", ONE],
  ],
  [
    "three renders that a backend rejects because of the edge's token",
    32,
    { [FORBIDDEN]: "0x30 3x90" },
    ["EdgeRejected", ONE],
  ],
  [
    "an edge that has been gone for two days",
    2 * 24 * 60,
    Object.fromEntries(Object.keys(idleService()).map((series) => [series, "1x10"])),
    ["EdgeDown"],
  ],
  ["a backend that was started four times", 34, { [STARTED]: "1x10 2x10 3x10 4x90" }, ["BackendRestarts", ONE]],
  [
    "a backend that was started three times, and another program that is always started",
    34,
    { [STARTED]: "1x10 2x10 3x100", 'process_start_time_seconds{job="node",instance="host:9100"}': "0+1x120" },
  ],
  ["a backend that was killed once", 12, { ...KILLED, [STARTED]: "0x10 600x110" }, ["BackendDied", ONE]],
  ["a backend that was killed once, ten minutes after its start", 21, { ...KILLED, [STARTED]: "0x10 600x110" }],
  [
    "renders of which one in ten takes longer than ten seconds",
    30,
    { ...traffic(100), ...durations(90, 100) },
    ["RendersAreSlow", ONE],
  ],
  ["a few slow renders among few others", 30, { ...traffic(1), ...durations(0, 1) }],
  ["one request in ten that finds no slot", 25, { ...traffic(9), [QUEUE_FULL]: "0x10 0+1x110" }, ["RequestsShed", ONE]],
  [
    "one request in ten for whose body the edge has no memory",
    25,
    { ...traffic(9), [NO_MEMORY]: "0x10 0+1x110" },
    ["EdgeSheds", DEPLOYMENT],
  ],
  ["three requests that no backend answers", 36, { [UNANSWERED]: "0x30 3x90" }, ["EdgeFails", DEPLOYMENT]],
  [
    "four requests that two edges refuse, each because it finds no backend",
    36,
    { [ownRefusals("one", "no_backends")]: "0x30 2x90", [ownRefusals("two", "no_backends")]: "0x30 2x90" },
    ["EdgeFails", DEPLOYMENT],
  ],
  [
    "an hour without a backend, in which an edge has no memory for one request in two",
    100,
    {
      ...Object.fromEntries(Object.keys(idleService()).map((series) => [series, "_x120"])),
      [UP]: "1x10 0x110",
      [OTHER_UP]: "1x10 0x110",
      [ownRefusals("one", "no_backend_answered")]: "0x10 0+10x110",
      [ownRefusals("one", "edge_memory", "render_queue_full")]: "0x10 0+10x110",
    },
    ["AllBackendsDown", DEPLOYMENT],
    ["BackendDown", ONE],
    ["BackendDown", { ...ONE, origin: "backend-2" }],
    ["EdgeSheds", DEPLOYMENT],
    ["EdgeFails", DEPLOYMENT],
  ],
  [
    "more than four requests that wait for each slot",
    16,
    { ...traffic(100), [`service_renders_waiting${FIRST}`]: "0x10 9x110" },
    ["QueueIsLong", ONE],
  ],
  [
    "three renders that time out without using the processor, on a service with little traffic",
    32,
    { ...traffic(1), [timeouts("wall_clock")]: "0x30 2x90", [timeouts("writing_files")]: "0x30 1x90" },
    ["MachineIsSlow", ONE],
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
    ["DiskIsShort", ONE],
  ],
  [
    "more than 80 % of the processes that a backend may have",
    16,
    { [`service_processes${FIRST}`]: "400x10 401x110" },
    ["ProcessesAreShort", ONE],
  ],
  [
    "temporary space of which more than 90 % is reserved",
    6,
    { [`service_temp_reserved_bytes${FIRST}`]: "901x120" },
    ["TempSpaceIsShort", ONE],
  ],
  [
    "a backend without a sandbox",
    1,
    { [`service_backend_info${label("backend-1", ',sandbox="none",typst_version="0.15.1"')}`]: "1x120" },
    ["SandboxOff", { ...ONE, sandbox: "none", typst_version: "0.15.1" }],
  ],
  [
    "a single request by other limits",
    31,
    { [`service_limits_mismatches_total${FIRST}`]: "0x30 1x90" },
    ["LimitsDiffer", ONE],
  ],
  [
    "backends with different fonts for an hour",
    40,
    {
      [capabilities("backend-1", "aa")]: "1x120",
      [capabilities("backend-2", "bb")]: "1x60 _x60",
      [capabilities("backend-2", "aa")]: "_x60 1x60",
    },
    ["InstallationsDiffer", DEPLOYMENT],
  ],
  [
    "backends with different fonts during an update",
    40,
    {
      [capabilities("backend-1", "aa")]: "1x20 _x100",
      [capabilities("backend-1", "bb")]: "_x20 1x100",
      [capabilities("backend-2", "bb")]: "1x120",
    },
  ],
  [
    "traces that have been lost for half an hour",
    30,
    { [`service_trace_spans_lost_total${FIRST}`]: "0+7x120" },
    ["TracesAreLost", ONE],
  ],
  [
    "log lines that nobody has read for five minutes",
    16,
    { [`service_log_lines_dropped_total${FIRST}`]: "0x10 1+9x110" },
    ["LogLinesAreLost", ONE],
  ],
];

const promtool = await locatePromtool();

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
  const one = CASES.map(([name, minutes, series, ...firing]): Case => {
    return [name, minutes, { ...idleService(), ...series }, ...firing];
  });
  // Each edge has the metrics of all backends. Other deployments, which are healthy, must neither hide alerts nor add any.
  const others = { ...otherDeployment('job="other"'), ...otherDeployment('job="edge",namespace="other"') };
  const two = one.map(([name, minutes, series, ...firing]): Case => {
    const seenByTwo = withSecondEdge(series);
    const all = minutes < LENGTH ? { ...others, ...seenByTwo } : seenByTwo;
    return [`${name}, seen by two edges beside other deployments`, minutes, all, ...firing];
  });
  const all = [...one, ...two];
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

/** What promtool reads for a case with all its series. */
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
        input_series: Object.entries(series).map(([series, values]) => ({ series, values })),
        alert_rule_test: [...SEVERITIES.keys()].map((alertname) => ({
          eval_time: `${minutes}m`,
          alertname,
          exp_alerts: alertsOf(alertname),
        })),
      },
    ],
  };
}
