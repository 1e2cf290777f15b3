/**
 * The real Prometheus with the shipped rules, on two deployments of two edges each, of which one loses all its backends.
 */
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { array, looseObject, number, object, parse, record, string, tuple } from "valibot";
import { writeEdge } from "../../../scripts/build/edge-folder.ts";
import { LOOPBACK, startBackend, takeFreePort } from "../../../scripts/start/local-service.ts";
import { requireTypst } from "../../../typst/program-location.mjs";
import { BACKEND_TOKEN, CHECKOUT, type Context, edgeCommand, startDaemon, TOKEN_VARIABLES, until } from "./part.ts";

const JOBS = ["first-deployment", "second-deployment"] as const;
const ALERTS = object({
  data: object({ alerts: array(looseObject({ state: string(), labels: record(string(), string()) })) }),
});
const RESULT = object({ data: object({ result: array(looseObject({ value: tuple([number(), string()]) })) }) });
const SLOTS = 3;

/** The query of the dashboard for a metric, of one deployment. */
async function dashboardQuery(metric: string, job: string): Promise<string> {
  const dashboard = await readFile(join(CHECKOUT, "deploy/grafana-dashboard.json"), "utf8");
  const [expression = ""] = dashboard.match(new RegExp(`(?<="expr": ").*\\b${metric}\\b.*(?=",?$)`, "m")) ?? [];
  return expression
    .replaceAll('\\"', '"')
    .replaceAll("$job", job)
    .replaceAll(/\$(?:namespace|origin)/g, ".*");
}

export async function tryPrometheus({ folder, say, atEnd }: Context): Promise<void> {
  const own = join(folder, "prometheus");
  await mkdir(own);
  const typstPath = await requireTypst();
  const edgeFolder = join(own, "edge");
  await writeEdge(edgeFolder);
  const deployments = [];
  for (const job of JOBS) {
    const settings = {
      SERVICE_TYPST_BIN: typstPath,
      SERVICE_BACKEND_TOKENS: BACKEND_TOKEN,
      SERVICE_SANDBOX: "auto",
      SERVICE_LOG_LEVEL: "silent",
      SERVICE_MAX_CONCURRENT_RENDERS: String(SLOTS),
    };
    const backend = await startBackend(settings, await takeFreePort());
    atEnd(() => backend.stop());
    const addresses = [`${LOOPBACK}:${await takeFreePort()}`, `${LOOPBACK}:${await takeFreePort()}`];
    for (const address of addresses) {
      const edge = startDaemon(edgeCommand(edgeFolder, address), {
        ...TOKEN_VARIABLES,
        SERVICE_BACKEND_URLS: backend.url.origin,
      });
      atEnd(() => edge.end("SIGTERM"));
    }
    deployments.push({ job, backend, addresses });
  }
  // The shipped rules, with seconds in the place of minutes.
  const shipped = await readFile(join(CHECKOUT, "deploy/alerts.yml"), "utf8");
  await writeFile(join(own, "alerts.yml"), shipped.replaceAll(/^( +for: \d+)m$/gm, "$1s"));
  const scrapes = deployments.map(({ job, addresses }) => ({
    job_name: job,
    static_configs: [{ targets: addresses }],
  }));
  const configuration = {
    global: { scrape_interval: "1s", evaluation_interval: "1s" },
    rule_files: ["alerts.yml"],
    scrape_configs: scrapes,
  };
  await writeFile(join(own, "prometheus.yml"), JSON.stringify(configuration));
  const listen = `${LOOPBACK}:${await takeFreePort()}`;
  const files = [`--config.file=${join(own, "prometheus.yml")}`, `--storage.tsdb.path=${join(own, "data")}`];
  const prometheus = startDaemon(["prometheus", ...files, `--web.listen-address=${listen}`]);
  atEnd(() => prometheus.end("SIGTERM"));
  const firing = async () => {
    const answer = await fetch(`http://${listen}/api/v1/alerts`);
    const { data } = parse(ALERTS, await answer.json());
    return data.alerts
      .filter(({ state }) => state === "firing")
      .map(({ labels }) => `${labels.alertname} ${labels.job ?? ""}`);
  };
  const query = async (expression: string) => {
    const answer = await fetch(`http://${listen}/api/v1/query?${new URLSearchParams({ query: expression })}`);
    return parse(RESULT, await answer.json()).data.result.map(({ value: [, value] }) => Number(value));
  };
  const isScraped = async () => (await query("count(service_origin_up == 1)"))[0] === 2 * JOBS.length;
  await until("two edges of two deployments in Prometheus", isScraped);
  const slots = await query(await dashboardQuery("service_render_slots", JOBS[0]));
  if (slots.join() !== String(SLOTS)) throw new Error(`the dashboard has ${slots.join()} slots, not ${SLOTS}`);
  const renders = await query(`count(service_render_slots{job="${JOBS[0]}"})`);
  if (renders.join() !== "2") throw new Error(`${renders.join()} edges show the slots, not 2`);
  say("the dashboard counts the slots of a backend once, which both edges show");
  // EdgeDown may fire before the first scrape, because here it waits for seconds.
  await until("an end of all alerts while both deployments are healthy", async () => (await firing()).length === 0);
  say("no alert fires while both deployments are healthy");
  await deployments[0]?.backend.stop();
  const wanted = `AllBackendsDown ${JOBS[0]}`;
  await until(wanted, async () => (await firing()).includes(wanted));
  const others = (await firing()).filter((alert) => !alert.endsWith(JOBS[0]));
  if (others.length > 0) throw new Error(`alerts of the healthy deployment: ${others.join(", ")}`);
  say(
    `${wanted} fires when its backends are gone, although the other deployment is healthy, and nothing fires for that one`,
  );
}
