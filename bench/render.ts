/** `npm run bench:render`: the backend beside `typst compile`. Only ratios within a run count: the two take turns. */
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { availableParallelism, cpus, tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { execa } from "execa";
import { writeExampleProject } from "../scripts/examples/example-project.ts";
import { exampleRequest } from "../scripts/examples/example-request.ts";
import { formatTable } from "../scripts/generate/markdown-table.ts";
import { type LocalBackend, startBackend, takeFreePort } from "../scripts/start/local-service.ts";
import { BACKEND_TOKEN } from "../test/support/tokens.ts";
import { requireTypst } from "../typst/program-location.mjs";
import { keepBusy, median, reportSource } from "./figures.ts";
import { closeConnections, post } from "./http-client.ts";
import { describeMachine, formatFigures, publish } from "./report.ts";

const CAP = availableParallelism();
const ROUNDS = 15;
const RENDERS_PER_ROUND = 8;
/** Between two requests, as between people's: a process that is started ahead gets ready in it. */
const PAUSE_MILLISECONDS = 50;
/** Until V8 has compiled what every request runs, there are about a tenth fewer renders per second (2026-11-23). */
const WARM_UP_SECONDS = 30;
const LOAD_SECONDS = 4;

const progress = (line: string) => process.stderr.write(`${line}\n`);

interface Document {
  readonly name: string;
  readonly body: string;
  readonly directory: string;
}

async function makeDocuments(folder: string): Promise<readonly [hello: Document, invoice: Document]> {
  const source = "= Hello";
  const hello = { name: `\`${source}\``, body: JSON.stringify({ source }), directory: join(folder, "hello") };
  const invoice = { name: "invoice", body: await exampleRequest("invoice"), directory: join(folder, "invoice") };
  await mkdir(hello.directory);
  await writeFile(join(hello.directory, "main.typ"), source);
  await mkdir(invoice.directory);
  await writeExampleProject("invoice", invoice.directory);
  return [hello, invoice];
}

function render(backend: LocalBackend, { body }: Document): Promise<void> {
  const headers = { "Content-Type": "application/json", "X-Service-Backend-Token": BACKEND_TOKEN };
  return post(new URL("/v1/render", backend.url), headers, body);
}

/** Milliseconds of each `typst compile` in a shell, from the fork to the end of the process. */
async function commandLineMilliseconds(typstPath: string, { directory }: Document): Promise<number[]> {
  const compile = '"$0" compile --ignore-system-fonts --jobs 1 main.typ out.pdf || exit 1';
  const loop = `for i in {1..${RENDERS_PER_ROUND}}; do
    start=\${EPOCHREALTIME//[^0-9]/}; ${compile}; echo $((\${EPOCHREALTIME//[^0-9]/} - start)); sleep ${PAUSE_MILLISECONDS / 1000}
  done`;
  const { stdout: microseconds } = await execa("bash", ["-c", loop, typstPath], { cwd: directory, lines: true });
  return microseconds.map((line) => Number(line) / 1000);
}

async function backendMilliseconds(backend: LocalBackend, document: Document): Promise<number[]> {
  const times: number[] = [];
  for (let index = 0; index < RENDERS_PER_ROUND; index++) {
    times.push(await millisecondsOf(() => render(backend, document)));
    await delay(PAUSE_MILLISECONDS);
  }
  return times;
}

async function aloneRow(backend: LocalBackend, typstPath: string, document: Document): Promise<string[]> {
  const commandLine: number[] = [];
  const service: number[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    commandLine.push(...(await commandLineMilliseconds(typstPath, document)));
    service.push(...(await backendMilliseconds(backend, document)));
  }
  const [own, bare] = [median(service), median(commandLine)];
  return [document.name, ...formatFigures(1, own, bare), (own / bare).toFixed(2)];
}

async function runXargs(typstPath: string, { directory }: Document, count: number): Promise<number> {
  const command = `seq ${count} | xargs -P ${CAP} -I N "$1" compile --ignore-system-fonts --jobs 1 main.typ out-N.pdf`;
  await execa("sh", ["-c", command, "sh", typstPath], { cwd: directory, stdio: "ignore" });
  return count;
}

function busyMilliseconds(): number {
  return cpus().reduce((sum, { times: { user, nice, sys, irq } }) => sum + user + nice + sys + irq, 0);
}

async function measureLoad(run: () => Promise<number>) {
  const [started, busyBefore] = [performance.now(), busyMilliseconds()];
  const count = await run();
  const perSecond = (count * 1000) / (performance.now() - started);
  return { count, perSecond, processorMilliseconds: (busyMilliseconds() - busyBefore) / count };
}

/** The rows for full capacity and for processor time. Each ratio and difference is the median of the rounds'. */
async function loadRows(backend: LocalBackend, typstPath: string, document: Document) {
  const capacity: number[][] = [];
  const processorTime: number[][] = [];
  for (let round = 0; round < ROUNDS; round++) {
    const own = await measureLoad(() => keepBusy(CAP, LOAD_SECONDS, () => render(backend, document)));
    const xargs = await measureLoad(() => runXargs(typstPath, document, own.count));
    capacity.push([own.perSecond, xargs.perSecond, own.perSecond / xargs.perSecond]);
    const [one, other] = [own.processorMilliseconds, xargs.processorMilliseconds];
    processorTime.push([one, other, one - other]);
  }
  const medians = (rounds: readonly (readonly number[])[]) =>
    [0, 1, 2].map((column) => median(rounds.map((round) => round[column] ?? 0)));
  const [own = 0, xargs = 0, ratio = 0] = medians(capacity);
  return {
    capacity: [document.name, ...formatFigures(1, own, xargs), ratio.toFixed(2)],
    processorTime: [document.name, ...formatFigures(1, ...medians(processorTime))],
  };
}

/** With an outline of two pages. */
const REPORT_PAGES = 61;
const REPORTS = [
  ["PDF", { format: "pdf" }, "report.pdf"],
  ["PNG pages in an archive", { format: "png", archive: "zip" }, "page-{p}.png"],
  ["SVG pages in an archive", { format: "svg", archive: "zip" }, "page-{p}.svg"],
] as const;

/** One document of many pages on an idle host, where both sides may use all cores. */
async function reportRows(backend: LocalBackend, typstPath: string, folder: string): Promise<string[][]> {
  const source = reportSource(REPORT_PAGES - 2);
  await writeFile(join(folder, "report.typ"), source);
  const rows: string[][] = [];
  for (const [name, output, path] of REPORTS) {
    const document = { name, body: JSON.stringify({ source, output }), directory: folder };
    const options = ["compile", "--ignore-system-fonts", "--format", output.format, "report.typ", path];
    const [service, commandLine]: [number[], number[]] = [[], []];
    for (let round = 0; round < ROUNDS; round++) {
      service.push(await millisecondsOf(() => render(backend, document)));
      await delay(PAUSE_MILLISECONDS);
      commandLine.push(await millisecondsOf(() => execa(typstPath, options, { cwd: folder })));
    }
    const [own, bare] = [median(service), median(commandLine)];
    rows.push([name, ...formatFigures(0, own, bare), (own / bare).toFixed(2)]);
  }
  return rows;
}

async function millisecondsOf(work: () => PromiseLike<unknown>): Promise<number> {
  const started = performance.now();
  await work();
  return performance.now() - started;
}

const SANDBOXES: readonly (readonly [name: string, settings: Readonly<Record<string, string>>])[] = [
  ["none, cold", { SERVICE_SANDBOX: "none", SERVICE_WARM_RENDERS: "0" }],
  ["none, warm", { SERVICE_SANDBOX: "none" }],
  ["bubblewrap, cold", { SERVICE_WARM_RENDERS: "0" }],
  ["bubblewrap, warm", {}],
  ["landlock, cold", { SERVICE_SANDBOX: "landlock", SERVICE_WARM_RENDERS: "0" }],
  ["landlock, warm", { SERVICE_SANDBOX: "landlock" }],
];

type Start = (settings: Readonly<Record<string, string>>) => Promise<LocalBackend>;

async function sandboxRows(start: Start, typstPath: string, document: Document): Promise<string[][]> {
  const candidates: { name: string; backend: LocalBackend; times: number[] }[] = [];
  for (const [name, settings] of SANDBOXES) {
    const backend = await start(settings).catch(() => null);
    if (backend === null) progress(`${name}: not available on this machine`);
    else candidates.push({ name, backend, times: [] });
  }
  for (const { backend } of candidates) await backendMilliseconds(backend, document);
  const commandLine: number[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    commandLine.push(...(await commandLineMilliseconds(typstPath, document)));
    for (const { backend, times } of candidates) times.push(...(await backendMilliseconds(backend, document)));
  }
  return candidates.map(({ name, times }) => {
    const p50 = median(times);
    return [name, p50.toFixed(1), (p50 / median(commandLine)).toFixed(2)];
  });
}

async function measure(start: Start, typstPath: string, folder: string) {
  const documents = await makeDocuments(folder);
  const backend = await start({});
  const rows = { alone: [] as string[][], capacity: [] as string[][], processorTime: [] as string[][] };
  for (const document of documents) {
    progress(`${document.name} …`);
    await keepBusy(CAP, WARM_UP_SECONDS, () => render(backend, document));
    rows.alone.push(await aloneRow(backend, typstPath, document));
    const { capacity, processorTime } = await loadRows(backend, typstPath, document);
    rows.capacity.push(capacity);
    rows.processorTime.push(processorTime);
  }
  progress("the report …");
  const reports = await reportRows(backend, typstPath, folder);
  progress("the sandboxes …");
  return { ...rows, reports, sandboxes: await sandboxRows(start, typstPath, documents[0]) };
}

function pageOf({ alone, capacity, processorTime, reports, sandboxes }: Awaited<ReturnType<typeof measure>>): string {
  const [atCap, xargs] = [`${CAP} at a time`, `\`xargs -P ${CAP} typst compile\``];
  const processor = ["Processor time of the whole machine", `${atCap}, ms per render`, `${xargs}, ms`];
  return `# Rendering, against Typst on the command line

Made by \`npm run bench:render\` on ${describeMachine()}. The backend is asked over HTTP on the loopback interface, sandboxed
by bubblewrap, with processes started ahead; \`typst compile\` reads the same project from disk. The client runs on the same
cores. Each document is rendered for ${WARM_UP_SECONDS} s before it is measured.

Single requests and single compiles are ${PAUSE_MILLISECONDS} ms apart:

${formatTable(["One request at a time", "backend, p50, ms", "`typst compile`, p50, ms", "ratio"], alone)}
At full capacity, with as many clients as slots, each sending its next request at once:

${formatTable([atCap, "backend, renders per second", xargs, "ratio"], capacity)}
Ratios and differences under load are medians over ${ROUNDS} rounds, in which the sides take turns. Processor time includes that of the
client.

${formatTable([...processor, "difference, ms"], processorTime)}
A report of ${REPORT_PAGES} pages, alone. The command line has its usual threads, one for each core, and so has the backend:

${formatTable(["Report", "backend, p50, ms", "`typst compile`, p50, ms", "ratio"], reports)}
What a sandbox and a process started ahead mean for a single \`= Hello\`:

${formatTable(["Sandbox", "p50, ms", "÷ `typst compile`"], sandboxes)}`;
}

const typstPath = await requireTypst();
const folder = await mkdtemp(join(tmpdir(), "bench-render-"));
const backends: LocalBackend[] = [];
const start: Start = async (settings) => {
  const environment = {
    SERVICE_TYPST_BIN: typstPath,
    SERVICE_BACKEND_TOKENS: BACKEND_TOKEN,
    SERVICE_LOG_LEVEL: "error",
    ...(process.env.SERVICE_SETPRIV_BIN && { SERVICE_SETPRIV_BIN: process.env.SERVICE_SETPRIV_BIN }),
    ...settings,
  };
  const backend = await startBackend(environment, await takeFreePort());
  backends.push(backend);
  return backend;
};
try {
  await publish("render", pageOf(await measure(start, typstPath, folder)));
} finally {
  closeConnections();
  await Promise.all(backends.map((running) => running.stop()));
  await rm(folder, { recursive: true, force: true });
}
