/**
 * `npm run bench:origins`: what the loss of one of two backends costs. Clients render through the edge at half of the rate that one
 * backend can do, with both backends, while one is killed, and with one dead. Writes bench/origins.md.
 *
 * Everything shares the cores of one machine, so only the ratio of the phases of one run counts. They take turns.
 */
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { exampleRequest } from "../scripts/example-request.ts";
import { type LocalBackend, type LocalEdge, startBackend, startEdge, takeFreePort } from "../scripts/local-service.ts";
import { locateTypst } from "../scripts/typst-location.mjs";
import { API_TOKEN, BACKEND_TOKEN } from "../test/support/tokens.ts";
import { describeMachine } from "./machine.ts";
import { median } from "./median.ts";
import { markdown, publish, type Table } from "./report.ts";

const ROUNDS = 3;
const PHASE_SECONDS = 8;
const CAPACITY_SECONDS = 5;

const progress = (line: string) => process.stderr.write(`${line}\n`);

interface Phase {
  readonly milliseconds: number[];
  lost: number;
}

async function render(edge: LocalEdge, body: string, phase: Phase): Promise<void> {
  const started = performance.now();
  try {
    const answer = await fetch(new URL("/v1/render", edge.url), {
      method: "POST",
      headers: { "X-Service-Api-Token": API_TOKEN, "Content-Type": "application/json" },
      body,
    });
    const bytes = await answer.bytes();
    if (answer.status !== 200 || bytes.length < 1000) throw new Error(`status ${answer.status}`);
    phase.milliseconds.push(performance.now() - started);
  } catch {
    phase.lost++;
  }
}

/** Sends requests at even intervals, whether or not the earlier ones are answered. */
async function renderAtRate(edge: LocalEdge, body: string, perSecond: number, phase: Phase): Promise<void> {
  const started = performance.now();
  const renders: Promise<void>[] = [];
  for (let index = 0; index < perSecond * PHASE_SECONDS; index++) {
    const wait = started + (1000 * index) / perSecond - performance.now();
    if (wait > 0) await delay(wait);
    renders.push(render(edge, body, phase));
  }
  await Promise.all(renders);
}

/** Renders per second of one backend with one slot. */
async function capacity(edge: LocalEdge, body: string): Promise<number> {
  const phase: Phase = { milliseconds: [], lost: 0 };
  const until = performance.now() + 1000 * CAPACITY_SECONDS;
  const client = async () => {
    while (performance.now() < until) await render(edge, body, phase);
  };
  await Promise.all([client(), client()]);
  return phase.milliseconds.length / CAPACITY_SECONDS;
}

async function main(): Promise<void> {
  const typst = await locateTypst();
  if ("error" in typst) throw new Error(typst.error);
  const body = await exampleRequest("invoice");
  const folders = await Promise.all([0, 1].map(() => mkdtemp(join(tmpdir(), "bench-origins-"))));
  const ports = [await takeFreePort(), await takeFreePort()] as const;
  const start = (index: 0 | 1): Promise<LocalBackend> =>
    startBackend(
      {
        SERVICE_TYPST_BIN: typst.path,
        SERVICE_BACKEND_TOKENS: BACKEND_TOKEN,
        SERVICE_LOG_LEVEL: "silent",
        SERVICE_MAX_CONCURRENT_RENDERS: "1",
        SERVICE_WORK_DIRECTORY: folders[index] ?? "",
      },
      ports[index],
    );
  const first = await start(0);
  let second = await start(1);
  const edge = await startEdge(
    {
      SERVICE_API_TOKENS: API_TOKEN,
      SERVICE_BACKEND_TOKEN: BACKEND_TOKEN,
      SERVICE_BACKEND_URLS: ports.map((port) => `http://127.0.0.1:${port}`).join(" "),
    },
    0,
  );
  const phases = {
    "with both": { milliseconds: [], lost: 0 } as Phase,
    "while one is killed": { milliseconds: [], lost: 0 } as Phase,
    "with one dead": { milliseconds: [], lost: 0 } as Phase,
  };
  const kill = async () => {
    second.process.kill("SIGKILL");
    await once(second.process, "exit");
  };
  try {
    await kill();
    progress("capacity of one backend");
    const perSecond = (await capacity(edge, body)) / 2;
    for (let round = 1; round <= ROUNDS; round++) {
      progress(`round ${round} of ${ROUNDS}, ${perSecond.toFixed(1)} renders per second`);
      second = await start(1);
      // Until the edge has seen that it is back.
      await renderAtRate(edge, body, perSecond, { milliseconds: [], lost: 0 });
      await renderAtRate(edge, body, perSecond, phases["with both"]);
      const killed = renderAtRate(edge, body, perSecond, phases["while one is killed"]);
      await delay((1000 * PHASE_SECONDS) / 2);
      await kill();
      await killed;
      await renderAtRate(edge, body, perSecond, phases["with one dead"]);
    }
    const p50 = median(phases["with both"].milliseconds);
    const table: Table = {
      subject: "The invoice of `examples/`",
      columns: [
        { title: "renders", digits: 0 },
        { title: "lost", digits: 0, better: "lower" },
        { title: "p50 in ms", digits: 1 },
        { title: "p99 in ms", digits: 1 },
        { title: "p50 ÷ with both", better: "lower" },
      ],
      rows: Object.entries(phases).map(([name, { milliseconds, lost }]) => ({
        name,
        cells: [
          milliseconds.length,
          lost,
          median(milliseconds),
          milliseconds.toSorted((left, right) => left - right)[Math.floor(milliseconds.length * 0.99)] ?? null,
          median(milliseconds) / p50,
        ],
      })),
    };
    const page = `# What the loss of a backend costs

Made by \`npm run bench:origins\` on ${describeMachine()}. Clients, edge and backends share the machine.

Two backends with one slot each. Requests come at even intervals, at half of the rate that one backend can do, for
${PHASE_SECONDS} seconds in each phase, ${ROUNDS} times in turn. The second backend is killed in the middle of a phase.

${markdown(table)}
`;
    await publish("origins", page, [table]);
  } finally {
    await edge.stop();
    await second.stop();
    await first.stop();
    for (const folder of folders) await rm(folder, { recursive: true, force: true });
  }
}

await main();
