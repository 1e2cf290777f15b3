/**
 * `npm run bench -- edge`: what the edge in Node adds to a render. Only differences within a run count: all take turns.
 * `BENCH_REQUESTS` says after how many mixed requests memory is read; with `BENCH_OTHER_CHECKOUT`, the edge of that folder is measured
 * beside this one.
 */
import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { fileURLToPath, pathToFileURL } from "node:url";
import { BACKEND_TOKEN_HEADER } from "../protocol/headers.ts";
import { formatTable } from "../scripts/generate/markdown-table.ts";
import { LOOPBACK, startBackend, takeFreePort } from "../scripts/start/local-service.ts";
import { childrenOf, readProc } from "../test/support/backend/processes.ts";
import { API_TOKEN, BACKEND_TOKEN } from "../test/support/tokens.ts";
import { requireTypst } from "../typst/program-location.mjs";
import { keepBusy, median } from "./figures.ts";
import { ask, closeConnections } from "./http-client.ts";
import { describeMachine, formatFigures, publish } from "./report.ts";

/** Until V8 has compiled what every request runs: after 100 of them, the edge added 0.4 to 0.8 ms more (2026-11-23). */
const WARM_UP_REQUESTS = 1500;
/** Clients of people and programs pause. Then caches are cold and processors asleep, and everything takes longer. */
const PAUSE_MILLISECONDS = 50;
const ROUNDS = 6;
const REQUESTS_OF_A_ROUND = 300;
const MIXED_REQUESTS = Number(process.env.BENCH_REQUESTS ?? 15_000);
const MIXED_CLIENTS = 8;
const SLOTS = 2;
const CAP_SECONDS = 4;
/** As the kernel counts them for programs. */
const TICKS_PER_SECOND = 100;

const HEADERS = {
  "X-Service-Api-Token": API_TOKEN,
  [BACKEND_TOKEN_HEADER]: BACKEND_TOKEN,
  "Content-Type": "application/json",
};
const HELLO = JSON.stringify({ source: "= Hello" });
const MEGABYTE = JSON.stringify({ source: "= Text", data: "Lorem ipsum dolor ".repeat(55_500) });

interface Way {
  readonly name: string;
  readonly url: URL;
  readonly process: ChildProcess;
  stop(): Promise<unknown>;
}

async function startBare(name: string, ...backend: string[]): Promise<Way> {
  const child = fork(fileURLToPath(new URL("edge/bare-server.ts", import.meta.url)), backend);
  const [address]: AddressInfo[] = await once(child, "message");
  const url = new URL(`http://${LOOPBACK}:${address?.port}`);
  return { name, url, process: child, stop: async () => child.disconnect() };
}

async function startEdgeOf(checkout: URL, name: string, backend: URL): Promise<Way> {
  const { startEdge }: typeof import("../scripts/start/built-edge.ts") = await import(
    new URL("scripts/start/built-edge.ts", checkout).href
  );
  const settings = {
    SERVICE_API_TOKENS: API_TOKEN,
    SERVICE_BACKEND_TOKEN: BACKEND_TOKEN,
    SERVICE_BACKEND_URLS: backend.origin,
    SERVICE_LOG_REQUESTS: "none",
  };
  return { name, ...(await startEdge(settings, 0)) };
}

const CHECKOUTS: [string, URL][] = [["edge in Node", new URL("..", import.meta.url)]];
const other = process.env.BENCH_OTHER_CHECKOUT;
if (other !== undefined) CHECKOUTS.push(["edge of the other checkout", pathToFileURL(join(other, "/"))]);

async function startEdges(backend: URL): Promise<Way[]> {
  const edges: Way[] = [];
  for (const [name, checkout] of CHECKOUTS) edges.push(await startEdgeOf(checkout, name, backend));
  return edges;
}

function programsOf(pid: number | undefined): number[] {
  return pid === undefined ? [] : [pid, ...childrenOf(pid).flatMap(programsOf)];
}

function processorMilliseconds({ process: { pid } }: Way): number {
  const ticks = programsOf(pid).map((one) => {
    const [user, system] = readProc(`${one}/stat`).split(") ")[1]?.split(" ").slice(11, 13) ?? [];
    return Number(user) + Number(system);
  });
  return (ticks.reduce((sum, count) => sum + count, 0) * 1000) / TICKS_PER_SECOND;
}

function residentMebibytes({ process: { pid } }: Way): number {
  const sizes = programsOf(pid).map((one) => Number(/^VmRSS:\s+(\d+)/m.exec(readProc(`${one}/status`))?.[1] ?? 0));
  return sizes.reduce((sum, size) => sum + size, 0) / 1024;
}

const render = ({ url }: Pick<Way, "url">, body: string) => ask(new URL("/v1/render", url), HEADERS, body);

/** The p50 of each in ms. They take turns, in another order each time. */
async function measureTimes(ways: readonly Way[], body: string, requests: number): Promise<number[]> {
  const times = ways.map((): number[] => []);
  const order = [...ways.entries()];
  for (let index = 0; index < requests; index++) {
    order.sort(() => Math.random() - 0.5);
    for (const [at, way] of order) {
      await delay(PAUSE_MILLISECONDS);
      const started = performance.now();
      await render(way, body);
      times[at]?.push(performance.now() - started);
    }
  }
  return times.map(median);
}

/** Of each for one `= Hello` in ms, without pauses. */
async function measureProcessorTime(ways: readonly Way[]): Promise<number[]> {
  const spent = ways.map(() => 0);
  for (let round = 0; round < ROUNDS; round++) {
    for (const [at, way] of ways.entries()) {
      const before = processorMilliseconds(way);
      for (let index = 0; index < REQUESTS_OF_A_ROUND; index++) await render(way, HELLO);
      spent[at] = (spent[at] ?? 0) + processorMilliseconds(way) - before;
    }
  }
  return spent.map((milliseconds) => milliseconds / (ROUNDS * REQUESTS_OF_A_ROUND));
}

/** Of 15 requests, one render is large, one not valid and one is for a document. */
async function askMixed(way: Way): Promise<void> {
  let asked = 0;
  const runClient = async () => {
    while (asked < MIXED_REQUESTS) {
      const kind = asked++ % 15;
      if (kind === 0) await render(way, MEGABYTE);
      else if (kind === 1) await ask(new URL("/v1/constraints", way.url), HEADERS, null);
      else if (kind === 2) await ask(new URL("/v1/render", way.url), HEADERS, "{}", [400, 200]);
      else await render(way, HELLO);
    }
  };
  await Promise.all(Array.from({ length: MIXED_CLIENTS }, runClient));
}

/** How many `= Hello` a second each answers while every slot of a real backend is taken, the median of the rounds. */
async function measureCap(): Promise<[string, number][]> {
  const backend = await startBackend(
    {
      SERVICE_TYPST_BIN: await requireTypst(),
      SERVICE_BACKEND_TOKENS: BACKEND_TOKEN,
      SERVICE_LOG_LEVEL: "error",
      SERVICE_MAX_CONCURRENT_RENDERS: String(SLOTS),
    },
    await takeFreePort(),
  );
  const edges = await startEdges(backend.url);
  try {
    const ways = [{ name: "backend alone", url: backend.url }, ...edges];
    const rates = ways.map((): number[] => []);
    for (let round = 0; round < ROUNDS; round++) {
      for (const [at, way] of ways.entries()) {
        rates[at]?.push((await keepBusy(2 * SLOTS, CAP_SECONDS, () => render(way, HELLO))) / CAP_SECONDS);
      }
    }
    return ways.map(({ name }, at) => [name, median(rates[at] ?? [])]);
  } finally {
    closeConnections();
    await Promise.all([backend.stop(), ...edges.map((edge) => edge.stop())]);
  }
}

const backend = await startBare("backend alone");
const ways = [backend, await startBare("bare proxy of Node", backend.url.href), ...(await startEdges(backend.url))];
try {
  for (const way of ways) for (let index = 0; index < WARM_UP_REQUESTS; index++) await render(way, HELLO);
  for (const way of ways) for (let index = 0; index < WARM_UP_REQUESTS / 10; index++) await render(way, MEGABYTE);
  const small = await measureTimes(ways, HELLO, 250);
  const large = await measureTimes(ways, MEGABYTE, 120);
  const spent = await measureProcessorTime(ways);
  for (const way of ways) await askMixed(way);
  const added = (times: readonly number[], at: number) => {
    const [alone = 0, proxy = 0] = times;
    const own = (times[at] ?? 0) - alone;
    return `${own.toFixed(2)} (${(own / (proxy - alone)).toFixed(2)})`;
  };
  const rows = ways.map((way, at) => [
    way.name,
    ...(at === 0 ? formatFigures(2, small[0] ?? 0, large[0] ?? 0) : [added(small, at), added(large, at)]),
    ...formatFigures(2, spent[at] ?? 0),
    ...formatFigures(0, residentMebibytes(way)),
  ]);
  const [alone, ...throughEdge] = await measureCap();
  const capRows = throughEdge.map(([name, rate]) => [
    name,
    ...formatFigures(1, alone?.[1] ?? 0, rate),
    ...formatFigures(2, rate / (alone?.[1] ?? 1)),
  ]);
  await publish(
    "speed-and-load",
    `## What the edge costs

Made by \`npm run bench -- edge\` on ${describeMachine()}. Client, edge and backend share the machine.
Requests are not logged (\`SERVICE_LOG_REQUESTS=none\`), as under \`npm start\`. All take turns.

A render whose backend answers at once, with pauses of ${PAUSE_MILLISECONDS} ms: the p50 of the backend alone in ms, and what the others add to it. In brackets, how many times as
much as a bare proxy adds: a server of \`node:http\` that reads the body and sends it on by \`http.request\` over connections that are kept. Processor
time without pauses. Memory after ${MIXED_REQUESTS} requests by ${MIXED_CLIENTS} clients: 1 of 15 has 1 MB, 1 is not valid, 1 is for a document.

${formatTable(["", "`= Hello`", "1 MB of text", "processor time of a `= Hello`, ms", "memory, MiB"], rows)}

Renders of \`= Hello\` per second at the cap of ${SLOTS} slots, by ${2 * SLOTS} clients:

${formatTable(["Through", "backend alone", "through it", "ratio"], capRows)}`,
  );
} finally {
  closeConnections();
  for (const way of ways) await way.stop();
}
