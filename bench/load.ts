/** `npm run bench:load -- URL [REQUEST.json]`: doubles the clients until requests are answered 429, within limits. */
import { readFile } from "node:fs/promises";
import { exampleRequest } from "../scripts/examples/example-request.ts";
import { formatTable } from "../scripts/generate/markdown-table.ts";
import { quantile } from "./figures.ts";
import { formatFigures } from "./report.ts";

const MAX_CLIENTS = 1024;
const MAX_REQUESTS = 20_000;
const MAX_SECONDS = 180;
const STEP_SECONDS = 5;
/** Longer than an edge waits by default. */
const ANSWER_TIMEOUT_MILLISECONDS = 130_000;
/** Before the first step: the edge does not know its backends yet, and no process waits for this document. */
const WARM_UP_REQUESTS = 20;

const [address, requestFile] = process.argv.slice(2);
const token = process.env.SERVICE_API_TOKEN ?? "";
if (address === undefined || !URL.canParse(address) || token === "") {
  process.stderr.write("usage: SERVICE_API_TOKEN=… npm run bench:load -- URL [REQUEST.json]\n");
  process.exit(2);
}
const url = new URL("v1/render", address.endsWith("/") ? address : `${address}/`);
const body = requestFile === undefined ? await exampleRequest("invoice") : await readFile(requestFile, "utf8");
const deadline = performance.now() + MAX_SECONDS * 1000;
let asked = 0;

/** @throws if the answer is neither a document nor 429: then there is nothing to measure. */
async function render(): Promise<200 | 429> {
  asked++;
  const response = await fetch(url, {
    method: "POST",
    headers: { "Content-Type": "application/json", "X-Service-Api-Token": token },
    body,
    redirect: "manual",
    signal: AbortSignal.timeout(ANSWER_TIMEOUT_MILLISECONDS),
  });
  const text = Buffer.from(await response.arrayBuffer()).toString("latin1", 0, 300);
  if (response.status === 200 || response.status === 429) return response.status;
  throw new Error(`status ${response.status}: ${text}`);
}

async function measureStep(clients: number) {
  const milliseconds: number[] = [];
  let refused = 0;
  const started = performance.now();
  const isOver = () =>
    performance.now() - started > STEP_SECONDS * 1000 || performance.now() > deadline || asked >= MAX_REQUESTS;
  const runClient = async () => {
    while (!isOver()) {
      const begun = performance.now();
      if ((await render()) === 429) {
        refused++;
        return;
      }
      milliseconds.push(performance.now() - begun);
    }
  };
  await Promise.all(Array.from({ length: clients }, runClient));
  return { milliseconds, refused, perSecond: (milliseconds.length * 1000) / (performance.now() - started) };
}

try {
  const rows: string[][] = [];
  for (let count = 0; count < WARM_UP_REQUESTS; count++) await render();
  for (let clients = 1; clients <= MAX_CLIENTS; clients *= 2) {
    process.stderr.write(`${clients} clients …\n`);
    const { milliseconds, refused, perSecond } = await measureStep(clients);
    const [p50, p95] = [quantile(milliseconds, 0.5), quantile(milliseconds, 0.95)];
    rows.push([String(clients), perSecond.toFixed(1), ...formatFigures(0, p50, p95, refused)]);
    if (refused > 0 || performance.now() > deadline || asked >= MAX_REQUESTS) break;
  }
  const head = ["Clients", "documents a second", "p50, ms", "p95, ms", "answered 429"];
  process.stdout.write(`${formatTable(head, rows)}\n${asked} requests.\n`);
} catch (error) {
  // `fetch` names what went wrong only as the cause.
  const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
  process.stderr.write(`${url}: ${cause instanceof Error ? cause.message : cause}\n`);
  process.exitCode = 1;
}
