/** `npm run bench:capacity`, as the superuser: processor and memory of documents, in docs/deploy/capacity.md. */
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { availableParallelism, loadavg, tmpdir } from "node:os";
import { join } from "node:path";
import { exampleRequest } from "../scripts/examples/example-request.ts";
import { formatTable } from "../scripts/generate/markdown-table.ts";
import { type CountedService, startCountedService } from "./counted-service.ts";
import { keepBusy, median, reportSource } from "./figures.ts";
import { closeConnections } from "./http-client.ts";
import { describeMachine, formatFigures } from "./report.ts";

const PAGE = new URL("../docs/deploy/capacity.md", import.meta.url);
const SLOTS = availableParallelism();
/** For each document. V8 compiles what every request runs for half a minute in all. */
const WARM_UP_SECONDS = 15;
const ROUNDS = 5;
const ROUND_SECONDS = 6;

const HEAD = [
  ...["Document", "processor time, ms", "of which Typst and sandbox", "backend", "edge"],
  ...["documents a minute and core", "memory of Typst, MiB", "spread of the rounds"],
];

async function makeDocuments(): Promise<readonly (readonly [name: string, body: string])[]> {
  const invoice = await exampleRequest("invoice");
  const png = JSON.stringify({ ...JSON.parse(invoice), output: { format: "png", page: 1 } });
  return [
    ["letter, PDF/A-2a and PDF/UA-1 (`examples/accessible-letter`)", await exampleRequest("accessible-letter")],
    ["invoice (`examples/invoice`)", invoice],
    ["report of 50 pages", JSON.stringify({ source: reportSource(49) })],
    ["PNG, 144 ppi, of the invoice's first page", png],
  ];
}

async function measureRound(service: CountedService, body: string) {
  const before = await service.milliseconds();
  const documents = await keepBusy(SLOTS, ROUND_SECONDS, () => service.render(body));
  const after = await service.milliseconds();
  const spent = (part: keyof typeof before) => (after[part] - before[part]) / documents;
  const [edge, backend, typst] = [spent("edge"), spent("backend"), spent("typst")];
  return { edge, backend, typst, sum: edge + backend + typst };
}

async function rowOf(service: CountedService, name: string, body: string) {
  process.stderr.write(`${name} …\n`);
  await keepBusy(SLOTS, WARM_UP_SECONDS, () => service.render(body));
  const metric = "service_render_peak_memory_bytes";
  const peaks = async () => [await service.metric(`${metric}_sum`), await service.metric(`${metric}_count`)] as const;
  const [bytesBefore, countBefore] = await peaks();
  const rounds: Awaited<ReturnType<typeof measureRound>>[] = [];
  for (let round = 0; round < ROUNDS; round++) rounds.push(await measureRound(service, body));
  const [bytes, count] = await peaks();
  const medianOf = (part: keyof (typeof rounds)[number]) => median(rounds.map((round) => round[part]));
  const sum = medianOf("sum");
  const sums = rounds.map((round) => round.sum);
  const spread = (Math.max(...sums) - Math.min(...sums)) / sum;
  const mebibytes = (bytes - bytesBefore) / (count - countBefore) / 1024 ** 2;
  return [
    name,
    ...formatFigures(1, sum, medianOf("typst"), medianOf("backend"), medianOf("edge")),
    ...formatFigures(0, 60_000 / sum, mebibytes),
    `${(100 * spread).toFixed()} %`,
  ];
}

const folder = await mkdtemp(join(tmpdir(), "bench-capacity-"));
const service = await startCountedService(folder);
try {
  const rows: string[][] = [];
  for (const [name, body] of await makeDocuments()) rows.push(await rowOf(service, name, body));
  const load = loadavg()[0]?.toFixed(0);
  const text = `Made by \`npm run bench:capacity\` on ${describeMachine()}, with a load average of ${load}: medians of ${ROUNDS} rounds.
${SLOTS} slots, bubblewrap, processes started ahead, no log lines.

${formatTable(HEAD, rows)}`;
  process.stdout.write(text);
  const page = await readFile(PAGE, "utf8");
  await writeFile(PAGE, page.replace(/(<!-- capacity -->\n)[\s\S]*?(<!-- end of capacity -->)/, `$1\n${text}\n$2`));
} finally {
  closeConnections();
  await service.stop();
  await rm(folder, { recursive: true, force: true });
}
