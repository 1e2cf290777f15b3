/**
 * `npm run bench:capacity`: what documents cost, for those who plan hosts: processor time and memory of a letter, an
 * invoice, a report of 50 pages and a PNG. Starts edge and backend and writes docs/deploy/capacity.md. It needs the
 * superuser.
 *
 * It measures no durations, so other work on the machine changes its figures little.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { availableParallelism, loadavg, tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { writeEdge } from "../scripts/build/edge-configuration.ts";
import { exampleRequest } from "../scripts/examples/example-request.ts";
import { LOOPBACK, startBackend, takeFreePort } from "../scripts/start/local-service.ts";
import { API_TOKEN, BACKEND_TOKEN } from "../test/support/tokens.ts";
import { requireTypst } from "../typst/program-location.mjs";
import { keepBusy, median } from "./figures.ts";
import { ask, closeConnections } from "./http-client.ts";
import { countProcessorTime } from "./peers/processor-time.ts";
import { residentMebibytes } from "./peers/resident-memory.ts";
import { describeMachine, markdown, type Table } from "./report.ts";

const PAGE = new URL("../docs/deploy/capacity.md", import.meta.url);
const SLOTS = availableParallelism();
/** For each document. V8 compiles what every request runs for half a minute in all. */
const WARM_UP_SECONDS = 15;
const ROUNDS = 5;
const ROUND_SECONDS = 6;

/** One chapter a page: text of 300 words, an equation and a table, with an outline before them. */
const REPORT = `#set page(paper: "a4", numbering: "1")
#set heading(numbering: "1.")
#set par(justify: true)
#outline()
#for chapter in range(1, 50) [
  #pagebreak()
  = Chapter #chapter
  #lorem(300)
  $ sum_(k=1)^#chapter k = (#chapter dot (#chapter + 1)) / 2 $
  #table(columns: 4, ..range(32).map(cell => str(cell * chapter)))
]`;

const progress = (line: string) => process.stderr.write(`${line}\n`);

interface Document {
  readonly name: string;
  readonly body: string;
}

async function makeDocuments(): Promise<Document[]> {
  const invoice = await exampleRequest("invoice");
  const png = JSON.stringify({ ...JSON.parse(invoice), output: { format: "png", page: 1 } });
  return [
    {
      name: "letter, PDF/A-2a and PDF/UA-1 (`examples/accessible-letter`)",
      body: await exampleRequest("accessible-letter"),
    },
    { name: "invoice (`examples/invoice`)", body: invoice },
    { name: "report of 50 pages", body: JSON.stringify({ source: REPORT }) },
    { name: "PNG, 144 ppi, of the invoice's first page", body: png },
  ];
}

interface Service {
  /** Renders one document. */
  render(body: string): Promise<void>;
  /** Processor time so far. */
  milliseconds(): Promise<Record<"edge" | "backend" | "typst", number>>;
  /** Sum and count of the peaks of Typst's resident memory. */
  peaks(): Promise<readonly [bytes: number, count: number]>;
  memory(): Promise<Record<"edge" | "backend", number>>;
  stop(): Promise<void>;
}

async function startService(folder: string): Promise<Service> {
  const counted = { edge: countProcessorTime("edge"), backend: countProcessorTime("backend") };
  const settings = {
    SERVICE_TYPST_BIN: await requireTypst(),
    SERVICE_BACKEND_TOKENS: BACKEND_TOKEN,
    SERVICE_LOG_LEVEL: "error",
  };
  const port = await takeFreePort();
  const backend = await counted.backend.whileStarting(() => startBackend(settings, port));
  await writeEdge(folder);
  const address = `${LOOPBACK}:${await takeFreePort()}`;
  const edge = await counted.edge.whileStarting(async () =>
    spawn(join(folder, "workerd"), ["serve", "config.capnp", "--socket-addr", `http=${address}`], {
      cwd: folder,
      stdio: ["ignore", "ignore", "inherit"],
      env: {
        SERVICE_API_TOKENS: API_TOKEN,
        SERVICE_BACKEND_TOKEN: BACKEND_TOKEN,
        SERVICE_BACKEND_URLS: backend.url.origin,
        SERVICE_LOG_REQUESTS: "none",
      },
    }),
  );
  const url = new URL(`http://${address}/v1/render`);
  while ((await fetch(new URL("/health", url)).catch(() => null))?.status !== 200) await delay(100);
  const metric = async (name: string) => {
    const text = await (await fetch(new URL("/metrics", backend.url))).text();
    const values = text.split("\n").filter((line) => new RegExp(`^${name}[{ ]`).test(line));
    return values.reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(" "))), 0);
  };
  const headers = { "Content-Type": "application/json", "X-Service-Api-Token": API_TOKEN };
  return {
    render: (body) => ask(url, "POST", headers, body),
    milliseconds: async () => {
      const own = (await metric("process_cpu_seconds_total")) * 1000;
      return { edge: counted.edge.milliseconds(), backend: own, typst: counted.backend.milliseconds() - own };
    },
    peaks: async () => {
      const name = "service_render_peak_memory_bytes";
      return [await metric(`${name}_sum`), await metric(`${name}_count`)];
    },
    memory: async () => ({
      edge: await residentMebibytes([edge.pid ?? 0]),
      backend: await residentMebibytes([backend.process.pid ?? 0]),
    }),
    stop: async () => {
      const ended = once(edge, "exit");
      edge.kill("SIGTERM");
      await Promise.all([ended, backend.stop()]);
      for (const group of Object.values(counted)) await group.remove();
    },
  };
}

/** Processor time of one document, in milliseconds. */
async function measureRound(service: Service, body: string) {
  const before = await service.milliseconds();
  const { milliseconds } = await keepBusy(SLOTS, ROUND_SECONDS, () => service.render(body));
  const after = await service.milliseconds();
  const spent = (part: keyof typeof before) => (after[part] - before[part]) / milliseconds.length;
  const [edge, backend, typst] = [spent("edge"), spent("backend"), spent("typst")];
  return { edge, backend, typst, sum: edge + backend + typst };
}

async function rowOf(service: Service, { name, body }: Document): Promise<Table["rows"][number]> {
  progress(`${name} …`);
  await keepBusy(SLOTS, WARM_UP_SECONDS, () => service.render(body));
  const [bytesBefore, peaksBefore] = await service.peaks();
  const rounds: Awaited<ReturnType<typeof measureRound>>[] = [];
  for (let round = 0; round < ROUNDS; round++) rounds.push(await measureRound(service, body));
  const [bytes, peaks] = await service.peaks();
  const medianOf = (part: keyof (typeof rounds)[number]) => median(rounds.map((round) => round[part]));
  const sum = medianOf("sum");
  const sums = rounds.map((round) => round.sum);
  const spread = (Math.max(...sums) - Math.min(...sums)) / sum;
  const mebibytes = (bytes - bytesBefore) / (peaks - peaksBefore) / 1024 ** 2;
  return {
    name,
    cells: [sum, medianOf("typst"), medianOf("backend"), medianOf("edge"), 60_000 / sum, mebibytes, 100 * spread],
  };
}

/** The memory of edge and backend in the middle of a load. */
async function memoryUnderLoad(service: Service, body: string): Promise<Record<"edge" | "backend", number>> {
  const load = keepBusy(SLOTS, ROUND_SECONDS, () => service.render(body));
  await delay((ROUND_SECONDS * 1000) / 2);
  const memory = await service.memory();
  await load;
  return memory;
}

async function main(): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), "bench-capacity-"));
  const service = await startService(folder);
  try {
    const documents = await makeDocuments();
    const rows: Table["rows"] = [];
    for (const document of documents) rows.push(await rowOf(service, document));
    const memory = await memoryUnderLoad(service, documents[1]?.body ?? "");
    const table: Table = {
      subject: "Document",
      columns: [
        { title: "processor time, ms", digits: 1 },
        { title: "of which Typst and sandbox", digits: 1 },
        { title: "backend", digits: 1 },
        { title: "edge", digits: 1 },
        { title: "documents a minute and core", digits: 0 },
        { title: "memory of Typst, MiB", digits: 0 },
        { title: "spread of the rounds", digits: 0, unit: " %" },
      ],
      rows,
    };
    const text = `Made by \`npm run bench:capacity\` on ${describeMachine()}, with a load average of ${loadavg()[0]?.toFixed(0)}: medians of ${ROUNDS} rounds.
${SLOTS} slots, bubblewrap, processes started ahead, no log lines. Under the load of the invoice the
edge had ${memory.edge.toFixed(0)} MiB, the backend with all its processes ${memory.backend.toFixed(0)} MiB.

${markdown(table)}
`;
    process.stdout.write(text);
    const page = await readFile(PAGE, "utf8");
    await writeFile(PAGE, page.replace(/(<!-- capacity -->\n)[\s\S]*?(<!-- end of capacity -->)/, `$1\n${text}\n$2`));
  } finally {
    closeConnections();
    await service.stop();
    await rm(folder, { recursive: true, force: true });
  }
}

await main();
