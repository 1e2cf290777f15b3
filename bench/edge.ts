/** `npm run bench -- edge`: what the edge adds to a render. Only differences within a run count: all take turns. */
import { readFileSync } from "node:fs";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { constraintsDocument } from "../rules/constraints.ts";
import { DEFAULT_LIMITS } from "../rules/limits.ts";
import { writeEdge } from "../scripts/build/edge-folder.ts";
import { bundle } from "../scripts/build/worker.ts";
import { exampleRequest } from "../scripts/examples/example-request.ts";
import { formatTable } from "../scripts/generate/markdown-table.ts";
import { startBuiltEdge } from "../scripts/start/built-edge.ts";
import { takeFreePort } from "../scripts/start/local-service.ts";
import { childrenOf } from "../test/support/backend/processes.ts";
import { ScriptedBackend } from "../test/support/service/scripted-backend.ts";
import { API_TOKEN, BACKEND_TOKEN } from "../test/support/tokens.ts";
import { median } from "./figures.ts";
import { ask, closeConnections } from "./http-client.ts";
import { describeMachine, formatFigures, publish } from "./report.ts";

/** Until V8 has compiled what every request runs: after 100 of them, the edge added 0.4 to 0.8 ms more (2026-11-23). */
const WARM_UP_REQUESTS = 2000;
const REQUESTS = 300;
/** Clients of people and programs pause. Then caches are cold and processors asleep, and everything takes longer. */
const PAUSE_MILLISECONDS = 50;
const ROUNDS = 5;
const REQUESTS_OF_A_ROUND = 1000;
const JSON_HEADERS = { "X-Service-Api-Token": API_TOKEN, "Content-Type": "application/json" };

const BODIES: Readonly<Record<string, string>> = {
  "`= Hello`": JSON.stringify({ source: "= Hello" }),
  "the invoice of `examples/`": await exampleRequest("invoice"),
  "1 MiB of text": JSON.stringify({ source: "= Text", data: "Lorem ipsum dolor ".repeat(58_000) }),
};

/** The edge and other Workers in one workerd, each with a socket of its own, and the gate in front of the edge. */
async function startWorkers(backend: URL) {
  const folder = await mkdtemp(join(tmpdir(), "bench-edge-"));
  await writeEdge(folder, "links");
  const ports = { edge: await takeFreePort(), forwarding: await takeFreePort(), bare: await takeFreePort() };
  const workers = { forwarding: "bench/edge/forwarding-worker.ts", bare: "bench/edge/bare-route.ts" } as const;
  for (const [name, main] of Object.entries(workers)) await writeFile(join(folder, `${name}.js`), await bundle(main));
  await writeFile(join(folder, "document.json"), JSON.stringify(constraintsDocument(DEFAULT_LIMITS)));
  const file = join(folder, "config.capnp");
  const [date = ""] = /compatibilityDate = .*/.exec(await readFile(file, "utf8")) ?? [];
  const service = (name: keyof typeof workers, bindings: string) =>
    `(name = "${name}", worker = (modules = [(name = "worker", esModule = embed "${name}.js")], ${date} globalOutbound = "backends", bindings = [${bindings}])),`;
  const socket = (name: keyof typeof ports) =>
    `(name = "${name}", address = "127.0.0.1:${ports[name]}", http = (forwardedProtoHeader = "X-Forwarded-Proto"), service = "${name}"),`;
  const added = [
    service("forwarding", `(name = "BACKEND", text = "${backend.origin}")`),
    service("bare", '(name = "DOCUMENT", data = embed "document.json")'),
  ];
  const config = (await readFile(file, "utf8"))
    .replace("services = [", ["services = [", ...added].join("\n"))
    .replace("sockets = [", ["sockets = [", socket("edge"), socket("forwarding"), socket("bare")].join("\n"));
  await writeFile(file, config);
  const built = await startBuiltEdge(folder, {
    SERVICE_API_TOKENS: API_TOKEN,
    SERVICE_BACKEND_TOKEN: BACKEND_TOKEN,
    SERVICE_BACKEND_URLS: backend.origin,
    SERVICE_LOG_REQUESTS: process.env.SERVICE_LOG_REQUESTS ?? "none",
  });
  const at = (port: number) => new URL(`http://127.0.0.1:${port}`);
  // The first of the gate's children.
  const [workerd] = childrenOf(built.process.pid ?? 0);
  return {
    gate: built.url,
    edge: at(ports.edge),
    forwarding: at(ports.forwarding),
    bare: at(ports.bare),
    processorSeconds: () => {
      const [user, system] =
        readFileSync(`/proc/${workerd}/stat`, "utf8").split(") ")[1]?.split(" ").slice(11, 13) ?? [];
      return (Number(user) + Number(system)) / 100;
    },
    stop: async () => {
      await built.stop();
      await rm(folder, { recursive: true });
    },
  };
}

/** The p50 of each in ms. They take turns, in another order each time. */
async function measure(urls: readonly URL[], body: string | null, pauseMilliseconds: number): Promise<number[]> {
  const times = urls.map((): number[] => []);
  const order = [...urls.keys()];
  for (let index = -WARM_UP_REQUESTS; index < REQUESTS; index++) {
    order.sort(() => Math.random() - 0.5);
    for (const way of order) {
      if (index >= 0 && pauseMilliseconds > 0) await delay(pauseMilliseconds);
      const started = performance.now();
      await ask(urls[way] as URL, JSON_HEADERS, body);
      if (index >= 0) times[way]?.push(performance.now() - started);
    }
  }
  return times.map(median);
}

const backend = await new ScriptedBackend().start();
const workers = await startWorkers(backend.url);

/** How many requests of each one core answers in a second, by the processor time of workerd. */
async function requestsPerCore(urls: readonly URL[]): Promise<number[]> {
  const seconds = urls.map(() => 0);
  for (let round = 0; round < ROUNDS; round++) {
    for (const [way, url] of urls.entries()) {
      const before = workers.processorSeconds();
      for (let index = 0; index < REQUESTS_OF_A_ROUND; index++) await ask(url, JSON_HEADERS, null);
      seconds[way] = (seconds[way] ?? 0) + workers.processorSeconds() - before;
    }
  }
  return seconds.map((spent) => (ROUNDS * REQUESTS_OF_A_ROUND) / spent);
}

try {
  const { edge, gate, forwarding, bare } = workers;
  const rows: string[][] = [];
  for (const pause of [PAUSE_MILLISECONDS, 0]) {
    for (const [name, body] of Object.entries(BODIES)) {
      const urls = [backend.url, forwarding, edge, gate].map((url) => new URL("/v1/render", url));
      const [alone = 0, hop = 0, ...others] = await measure(urls, body, pause);
      const ratios = others.map(
        (time) => `${(time - alone).toFixed(2)} (${((time - alone) / (hop - alone)).toFixed(2)})`,
      );
      rows.push([name, pause === 0 ? "none" : `${pause} ms`, ...formatFigures(2, alone, hop - alone), ...ratios]);
    }
  }
  const [constraints, health] = ["/v1/constraints", "/health"].map((path) => new URL(path, edge));
  if (constraints === undefined || health === undefined) throw new Error("unreachable");
  const bareRoute = new URL("/v1/constraints", bare);
  const urls = [health, constraints, bareRoute];
  const lookUps = await measure(urls, null, PAUSE_MILLISECONDS);
  const rates = await requestsPerCore(urls);
  await publish(
    "speed-and-load",
    `## What the edge costs

Made by \`npm run bench -- edge\` on ${describeMachine()}. Client, edge and backend share the machine.
Requests are not logged (\`SERVICE_LOG_REQUESTS=none\`), as under \`npm start\`.

A render whose backend answers at once: what is added to the backend alone, p50 of ${REQUESTS} in ms. In brackets, how many times as much as
a Worker adds that only forwards, in the same workerd. [Where the time goes](../docs/decisions/README.md#what-the-edge-adds-to-a-render).

${formatTable(["Request", "pause before", "backend alone", "added by a forwarding Worker", "by the edge", "by the edge behind the gate"], rows)}

Look-ups: p50 in ms with pauses of ${PAUSE_MILLISECONDS} ms, and requests per second of one core of workerd without pauses.

${formatTable(
  ["Look-up", "p50", "requests per second"],
  ["`/health`", "`/v1/constraints`", "the same bytes by a route of hono alone"].map((name, index) => [
    name,
    ...formatFigures(2, lookUps[index] ?? 0),
    ...formatFigures(0, rates[index] ?? 0),
  ]),
)}`,
  );
} finally {
  closeConnections();
  await workers.stop();
  await backend.stop();
}
