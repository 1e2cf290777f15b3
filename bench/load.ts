/**
 * `npm run bench:load -- URL [REQUEST.json]`: what a deployment can do. It doubles the number of clients, each of which
 * sends its next request as soon as it has its answer, until requests are answered 429, and prints documents a second
 * and times for each number. It asks only the URL that is named, with the token of `SERVICE_API_TOKEN`, within limits on
 * requests and time. By default it renders the invoice of `examples/`; REQUEST.json is the body of another request.
 */
import { readFile } from "node:fs/promises";
import { exampleRequest } from "../scripts/examples/example-request.ts";
import { quantile } from "./figures.ts";
import { markdown, type Table } from "./report.ts";

const MAX_CLIENTS = 1024;
const MAX_REQUESTS = 20_000;
const MAX_SECONDS = 180;
const STEP_SECONDS = 5;
/** Longer than an edge waits by default. */
const ANSWER_TIMEOUT_MILLISECONDS = 130_000;
/** Before the first step. The edge does not know its backends yet, and no process waits for this document. */
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

interface Answer {
  readonly status: number;
  readonly milliseconds: number;
}

/** @throws if the answer is neither a document nor 429: then there is nothing to measure. */
async function render(): Promise<Answer> {
  asked++;
  const started = performance.now();
  const response = await fetch(url, {
    method: "POST",
    headers: { "Content-Type": "application/json", "X-Service-Api-Token": token },
    body,
    redirect: "manual",
    signal: AbortSignal.timeout(ANSWER_TIMEOUT_MILLISECONDS),
  });
  const bytes = await response.arrayBuffer();
  if (response.status !== 200 && response.status !== 429) {
    throw new Error(`status ${response.status}: ${Buffer.from(bytes).toString("utf8").slice(0, 300)}`);
  }
  return { status: response.status, milliseconds: performance.now() - started };
}

interface Step {
  readonly clients: number;
  readonly perSecond: number;
  readonly refused: number;
  readonly cells: readonly (number | null)[];
}

async function measure(clients: number): Promise<Step> {
  const answers: Answer[] = [];
  const started = performance.now();
  const isOver = () =>
    performance.now() - started > STEP_SECONDS * 1000 || performance.now() > deadline || asked >= MAX_REQUESTS;
  await Promise.all(
    Array.from({ length: clients }, async () => {
      // One that is refused is told when to come again, so it has left.
      for (let status = 200; status === 200 && !isOver(); ) {
        const answer = await render();
        answers.push(answer);
        status = answer.status;
      }
    }),
  );
  const seconds = (performance.now() - started) / 1000;
  const times = answers.filter(({ status }) => status === 200).map(({ milliseconds }) => milliseconds);
  const refused = answers.length - times.length;
  const perSecond = times.length / seconds;
  return { clients, perSecond, refused, cells: [perSecond, quantile(times, 0.5), quantile(times, 0.95), refused] };
}

async function main(): Promise<void> {
  const steps: Step[] = [];
  for (let count = 0; count < WARM_UP_REQUESTS; count++) await render();
  for (let clients = 1; clients <= MAX_CLIENTS; clients *= 2) {
    process.stderr.write(`${clients} clients …\n`);
    const step = await measure(clients);
    steps.push(step);
    if (step.refused > 0 || performance.now() > deadline || asked >= MAX_REQUESTS) break;
  }
  const table: Table = {
    subject: "Clients",
    columns: [
      { title: "documents a second", digits: 1 },
      { title: "p50, ms", digits: 0 },
      { title: "p95, ms", digits: 0 },
      { title: "answered 429", digits: 0 },
    ],
    rows: steps.map(({ clients, cells }) => ({ name: String(clients), cells: [...cells] })),
  };
  const most = Math.max(...steps.map(({ perSecond }) => perSecond));
  const enough = steps.find(({ perSecond }) => perSecond >= 0.95 * most);
  const last = steps.at(-1);
  const refusal =
    last !== undefined && last.refused > 0
      ? `429 begins between ${last.clients / 2} and ${last.clients} clients.`
      : `No request was answered 429 with up to ${last?.clients} clients.`;
  process.stdout.write(`${markdown(table)}

${asked} requests. At most ${most.toFixed(1)} documents a second, which ${enough?.clients} clients reach. ${refusal}
`);
}

await main().catch((error: unknown) => {
  // `fetch` names what went wrong only as the cause.
  const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
  process.stderr.write(`${url}: ${cause instanceof Error ? cause.message : cause}\n`);
  process.exitCode = 1;
});
