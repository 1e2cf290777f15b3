/** The real Prometheus with the shipped rules, on two deployments of which one loses all its backends. */
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { array, looseObject, object, parse, record, string } from "valibot";
import { writeEdge } from "../../scripts/build/edge-configuration.ts";
import { LOOPBACK, startBackend, takeFreePort } from "../../scripts/start/local-service.ts";
import { requireTypst } from "../../typst/program-location.mjs";
import { BACKEND_TOKEN, CHECKOUT, type Context, edgeCommand, startDaemon, TOKEN_VARIABLES, until } from "./part.ts";

const JOBS = ["first-deployment", "second-deployment"] as const;
const ALERTS = object({
  data: object({ alerts: array(looseObject({ state: string(), labels: record(string(), string()) })) }),
});

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
    };
    const backend = await startBackend(settings, await takeFreePort());
    atEnd(() => backend.stop());
    const address = `${LOOPBACK}:${await takeFreePort()}`;
    const edge = startDaemon(edgeCommand(edgeFolder, address), {
      ...TOKEN_VARIABLES,
      SERVICE_BACKEND_URLS: backend.url.origin,
    });
    atEnd(() => edge.end("SIGTERM"));
    deployments.push({ job, backend, address });
  }
  // The shipped rules, with seconds in the place of minutes.
  const shipped = await readFile(join(CHECKOUT, "deploy/alerts.yml"), "utf8");
  await writeFile(join(own, "alerts.yml"), shipped.replaceAll(/^( +for: \d+)m$/gm, "$1s"));
  const scrapes = deployments.map(({ job, address }) => ({ job_name: job, static_configs: [{ targets: [address] }] }));
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
  const isScraped = async () => {
    const answer = await fetch(`http://${listen}/api/v1/query?query=count(service_origin_up == 1)`);
    return (await answer.text()).includes('"2"');
  };
  await until("two deployments in Prometheus", isScraped);
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
