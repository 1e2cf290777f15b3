/** `npm run bench -- edge`: what the edge adds to a render. Only differences within a run count: the two take turns. */
import { exampleRequest } from "../scripts/examples/example-request.ts";
import { formatTable } from "../scripts/generate/markdown-table.ts";
import { startEdge } from "../test/support/service/local-worker.ts";
import { ScriptedBackend } from "../test/support/service/scripted-backend.ts";
import { API_TOKEN, BACKEND_TOKEN } from "../test/support/tokens.ts";
import { median } from "./figures.ts";
import { closeConnections, post } from "./http-client.ts";
import { describeMachine, formatFigures, publish } from "./report.ts";

/** Until V8 has compiled what every request runs: after 100 of them, the edge added 0.4 to 0.8 ms more (2026-11-23). */
const WARM_UP_RENDERS = 2000;
const RENDERS = 400;
const HEADERS = { "X-Service-Api-Token": API_TOKEN, "Content-Type": "application/json" };

const BODIES: Readonly<Record<string, string>> = {
  "`= Hello`": JSON.stringify({ source: "= Hello" }),
  "the invoice of `examples/`": await exampleRequest("invoice"),
  "1 MiB of text": JSON.stringify({ source: "= Text", data: "Lorem ipsum dolor ".repeat(58_000) }),
};

async function measure(edge: URL, backend: URL, body: string): Promise<number[]> {
  const times = { backend: [] as number[], edge: [] as number[] };
  const urls = { backend: new URL("/v1/render", backend), edge: new URL("/v1/render", edge) };
  for (let index = -WARM_UP_RENDERS; index < RENDERS; index++) {
    for (const way of ["backend", "edge"] as const) {
      const started = performance.now();
      await post(urls[way], HEADERS, body);
      if (index >= 0) times[way].push(performance.now() - started);
    }
  }
  const p50 = { backend: median(times.backend), edge: median(times.edge) };
  return [p50.backend, p50.edge, p50.edge - p50.backend];
}

const backend = await new ScriptedBackend().start();
const edge = await startEdge(
  {
    SERVICE_API_TOKENS: API_TOKEN,
    SERVICE_BACKEND_TOKEN: BACKEND_TOKEN,
    SERVICE_BACKEND_URLS: backend.url.origin,
    // Each line would pass through this process to its terminal.
    SERVICE_LOG_REQUESTS: "none",
  },
  0,
);
try {
  const rows: string[][] = [];
  for (const [name, body] of Object.entries(BODIES)) {
    rows.push([name, ...formatFigures(2, ...(await measure(edge.url, backend.url, body)))]);
  }
  await publish(
    "speed-and-load",
    `## What the edge costs

Made by \`npm run bench -- edge\` on ${describeMachine()}. Client, edge and backend share the machine.
Requests are not logged (\`SERVICE_LOG_REQUESTS=none\`).

A render whose backend answers at once, one request after the other, p50 of ${RENDERS} in ms. About half of what the edge adds is
the second hop through workerd (2026-11-23, beside a Worker that only forwards).

${formatTable(["Request", "backend alone", "edge", "added by the edge"], rows)}`,
  );
} finally {
  closeConnections();
  await edge.stop();
  await backend.stop();
}
