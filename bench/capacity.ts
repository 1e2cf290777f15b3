/**
 * `npm run bench:capacity`, as the superuser: processor and memory of documents, in docs/deploy/capacity.md; with the
 * argument `growth`, how both grow with a document, in growth.md.
 */
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { availableParallelism, loadavg, tmpdir } from "node:os";
import { join } from "node:path";
import { exampleRequest } from "../scripts/examples/example-request.ts";
import { formatTable } from "../scripts/generate/markdown-table.ts";
import { type CountedService, startCountedService } from "./counted-service.ts";
import { keepBusy, median, reportSource } from "./figures.ts";
import { closeConnections } from "./http-client.ts";
import { describeMachine, formatFigures, publish } from "./report.ts";

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

const PARTS = ["edge", "backend", "typst"] as const;
const TIMES_LARGER = 10;
/** Each is rendered in turn with the others, so that none has the quiet minute. */
const GROWTH_ROUNDS = 3;

/** What grows, the number of it that is compared with ten times as many, and the request. */
async function makeGrowing(): Promise<readonly (readonly [what: string, few: number, make: (n: number) => object])[]> {
  const rows = "#table(columns: 4, ..range(N * 4).map(str))";
  const pages = "#for page in range(N) [#lorem(200) #pagebreak(weak: true)]";
  const sourceOf = (source: string, n: number) => source.replaceAll("N", String(n));
  const logo = await readFile(new URL("../examples/invoice/assets/logo.png", import.meta.url), "base64");
  const images = (n: number) => Array.from({ length: n }, (_, index) => `${index}.png`);
  const png = { encoding: "base64", content: logo };
  return [
    ["pages", 30, (n) => ({ source: sourceOf(pages, n) })],
    ["rows", 300, (n) => ({ source: sourceOf(rows, n) })],
    [
      "rows, PDF/A-2a and PDF/UA-1",
      300,
      (n) => ({
        source: `#set document(title: "Rows")\n${sourceOf(rows, n)}`,
        output: { standards: ["a-2a", "ua-1"] },
      }),
    ],
    [
      "images",
      6,
      (n) => ({
        source: images(n)
          .map((name) => `#image("${name}")`)
          .join(),
        files: Object.fromEntries(images(n).map((name) => [name, png])),
      }),
    ],
    ["body, kB", 300, (n) => ({ source: "#data.len()", data: Array.from({ length: n }, () => "x".repeat(1000)) })],
    [
      "answer: rows of one SVG",
      300,
      (n) => ({ source: `#set page(height: auto)\n${sourceOf(rows, n)}`, output: { format: "svg" } }),
    ],
    ["ZIP: pages as SVG", 6, (n) => ({ source: sourceOf(pages, n), output: { format: "svg", archive: "zip" } })],
  ];
}

async function growthTable(service: CountedService): Promise<string> {
  const kinds = (await makeGrowing()).map(([what, few, make]) => ({
    what,
    few,
    bodies: [few, few * TIMES_LARGER].map((n) => ({
      body: JSON.stringify(make(n)),
      runs: [] as Awaited<ReturnType<CountedService["milliseconds"]>>[],
    })),
  }));
  for (let round = 0; round <= GROWTH_ROUNDS; round++) {
    for (const { body, runs } of kinds.flatMap(({ bodies }) => bodies)) {
      const before = await service.milliseconds();
      await service.render(body);
      const after = await service.milliseconds();
      const [edge = 0, backend = 0, typst = 0] = PARTS.map((part) => after[part] - before[part]);
      if (round > 0) runs.push({ edge, backend, typst });
    }
  }
  const rows = kinds.map(({ what, few, bodies }) => {
    const parts = PARTS.map((part) => bodies.map(({ runs }) => median(runs.map((run) => run[part]))));
    const powers = parts.map(([small = 0, large = 0]) => Math.log(large / small) / Math.log(TIMES_LARGER));
    const sizes = `${few} and ${few * TIMES_LARGER}`;
    return [
      what,
      sizes,
      ...parts.map((times) => formatFigures(1, ...times).join(" and ")),
      ...formatFigures(2, ...powers),
    ];
  });
  return `# Growth

Made by \`npm run bench:capacity -- growth\` on ${describeMachine()}, with a load average of ${loadavg()[0]?.toFixed(0)}: medians of ${GROWTH_ROUNDS}
rounds of one render each. Times are of the processor, in ms. A power of 1 is a time that grows with the items, one of 2 with their square.
Of Typst, it is what the document costs anywhere.

${formatTable(["What", "of", "edge", "backend", "Typst", "power: edge", "backend", "Typst"], rows)}`;
}

const folder = await mkdtemp(join(tmpdir(), "bench-capacity-"));
const service = await startCountedService(folder);
try {
  if (process.argv[2] === "growth") {
    await publish("growth", await growthTable(service));
  } else {
    const rows: string[][] = [];
    for (const [name, body] of await makeDocuments()) rows.push(await rowOf(service, name, body));
    const load = loadavg()[0]?.toFixed(0);
    const text = `Made by \`npm run bench:capacity\` on ${describeMachine()}, with a load average of ${load}: medians of ${ROUNDS} rounds.
${SLOTS} slots, bubblewrap, processes started ahead, no log lines.

${formatTable(HEAD, rows)}`;
    process.stdout.write(text);
    const page = await readFile(PAGE, "utf8");
    await writeFile(PAGE, page.replace(/(<!-- capacity -->\n)[\s\S]*?(<!-- end of capacity -->)/, `$1\n${text}\n$2`));
  }
} finally {
  closeConnections();
  await service.stop();
  await rm(folder, { recursive: true, force: true });
}
