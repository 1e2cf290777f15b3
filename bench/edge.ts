/**
 * `npm run bench -- edge`: what the edge costs. It compares `/v1/constraints` with a bare Hono route that returns the same
 * bytes, in requests per second; and it measures what the edge adds to a render, against a backend that answers at once
 * and a Worker that only forwards. Writes its section of bench/speed-and-load.md.
 *
 * Everything runs in workerd under Miniflare. Only ratios and differences within one run count, so all contestants take
 * turns.
 */
import { fileURLToPath } from "node:url";
import { exampleRequest } from "../scripts/examples/example-request.ts";
import { startEdge, startWorkerFile } from "../scripts/start/local-service.ts";
import { startStandInBackend } from "../test/support/service/stand-in-backend.ts";
import { API_TOKEN, BACKEND_TOKEN } from "../test/support/tokens.ts";
import { keepBusy, median } from "./figures.ts";
import { ask, closeConnections } from "./http-client.ts";
import { describeMachine, markdown, publish, type Table } from "./report.ts";

const CLIENTS = 8;
const THROUGHPUT_ROUNDS = 15;
const ROUND_SECONDS = 1;
/**
 * Until V8 has compiled what every request runs: after 100 of them, the edge still added 0.4 to 0.8 ms more (2026-11-23).
 */
const WARM_UP_RENDERS = 2000;
const RENDERS = 400;
const TOKEN_HEADER = { "X-Service-Api-Token": API_TOKEN };

async function requestsPerSecond(url: URL): Promise<number> {
  const { milliseconds, seconds } = await keepBusy(CLIENTS, ROUND_SECONDS, () => ask(url, "GET", TOKEN_HEADER));
  return milliseconds.length / seconds;
}

async function constraintsTable(edge: URL, bare: URL): Promise<Table> {
  const rounds: { edge: number; bare: number }[] = [];
  for (let round = -2; round < THROUGHPUT_ROUNDS; round++) {
    const figures = {
      edge: await requestsPerSecond(new URL("/v1/constraints", edge)),
      bare: await requestsPerSecond(new URL("/v1/constraints", bare)),
    };
    if (round >= 0) rounds.push(figures);
  }
  const cells = [
    median(rounds.map((figures) => figures.edge)),
    median(rounds.map((figures) => figures.bare)),
    median(rounds.map((figures) => figures.edge / figures.bare)),
  ];
  return {
    subject: "",
    columns: [{ title: "edge", digits: 0 }, { title: "bare Hono route", digits: 0 }, { title: "ratio" }],
    rows: [{ name: "`/v1/constraints`, requests per second", cells }],
  };
}

const RENDER_BODIES: readonly (readonly [name: string, make: () => string | Promise<string>])[] = [
  ["`= Hello`", () => JSON.stringify({ source: "= Hello" })],
  ["the invoice of `examples/`", () => exampleRequest("invoice")],
  ["1 MiB of text", () => JSON.stringify({ source: "= Text", data: "Lorem ipsum dolor ".repeat(58_000) })],
];

async function renderTable(edge: URL, bare: URL, backend: URL): Promise<Table> {
  const forward = new URL("/forward", bare);
  forward.searchParams.set("to", new URL("/v1/render", backend).href);
  const ways = { backend: new URL("/v1/render", backend), forward, edge: new URL("/v1/render", edge) };
  const rows: Table["rows"] = [];
  for (const [name, make] of RENDER_BODIES) {
    const body = await make();
    const headers = { ...TOKEN_HEADER, "Content-Type": "application/json" };
    const times = { backend: [] as number[], forward: [] as number[], edge: [] as number[] };
    for (let index = -WARM_UP_RENDERS; index < RENDERS; index++) {
      for (const way of ["backend", "forward", "edge"] as const) {
        const started = performance.now();
        await ask(ways[way], "POST", headers, body);
        if (index >= 0) times[way].push(performance.now() - started);
      }
    }
    const p50 = { backend: median(times.backend), forward: median(times.forward), edge: median(times.edge) };
    rows.push({
      name,
      cells: [p50.backend, p50.forward, p50.edge, p50.edge - p50.backend, p50.edge - p50.forward],
    });
  }
  return {
    subject: "Request",
    columns: [
      { title: "backend alone" },
      { title: "bare Worker that forwards" },
      { title: "edge" },
      { title: "added by the edge" },
      { title: "of that, beyond the bare Worker" },
    ],
    rows,
  };
}

async function main(): Promise<void> {
  const backend = await startStandInBackend();
  const edge = await startEdge(
    {
      SERVICE_API_TOKENS: API_TOKEN,
      SERVICE_BACKEND_TOKEN: BACKEND_TOKEN,
      SERVICE_BACKEND_URLS: backend.url.origin,
      // The bare Worker logs nothing either, and each line would pass through this process to its terminal.
      SERVICE_LOG_REQUESTS: "none",
    },
    0,
  );
  const bare = await startWorkerFile(fileURLToPath(new URL("edge-worker.ts", import.meta.url)));
  try {
    const constraints = await constraintsTable(edge.url, bare.url);
    const renders = await renderTable(edge.url, bare.url, backend.url);
    const section = `## What the edge costs

Made by \`npm run bench -- edge\` on ${describeMachine()}. Clients, Workers and backend share the machine.
Requests are not logged (\`SERVICE_LOG_REQUESTS=none\`).

${CLIENTS} clients, each sending its next request as soon as it has its answer; rounds of one second in turn, the median of ${THROUGHPUT_ROUNDS}:

${markdown(constraints)}

A render whose backend answers at once, one request after the other, p50 of ${RENDERS} in ms. The bare Worker forwards the body
as it arrives and validates nothing: its time is that of workerd alone, for a second hop.

${markdown(renders)}
`;
    await publish("speed-and-load", section);
  } finally {
    closeConnections();
    await bare.stop();
    await edge.stop();
    await backend.stop();
  }
}

await main();
