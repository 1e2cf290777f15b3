/** `npm run bench:render`: the backend beside `typst compile`. Only ratios within a run count: the two take turns. */
import { execFileSync } from "node:child_process";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { availableParallelism, cpus, tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { writeExampleProject } from "../scripts/examples/example-project.ts";
import { exampleRequest } from "../scripts/examples/example-request.ts";
import { type LocalBackend, startBackend, takeFreePort } from "../scripts/start/local-service.ts";
import { BACKEND_TOKEN } from "../test/support/tokens.ts";
import { requireTypst } from "../typst/program-location.mjs";
import { keepBusy, median } from "./figures.ts";
import { closeConnections, post } from "./http-client.ts";
import { describeMachine, markdown, publish, type Table } from "./report.ts";

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
function commandLineMilliseconds(typstPath: string, { directory }: Document): number[] {
  const compile = '"$0" compile --ignore-system-fonts --jobs 1 main.typ out.pdf || exit 1';
  const loop = `for i in {1..${RENDERS_PER_ROUND}}; do
    start=\${EPOCHREALTIME//[^0-9]/}; ${compile}; echo $((\${EPOCHREALTIME//[^0-9]/} - start)); sleep ${PAUSE_MILLISECONDS / 1000}
  done`;
  const microseconds = execFileSync("bash", ["-c", loop, typstPath], { cwd: directory, encoding: "utf8" });
  const lines = microseconds.trim().split("\n");
  return lines.map((line) => Number(line) / 1000);
}

async function backendMilliseconds(backend: LocalBackend, document: Document): Promise<number[]> {
  const times: number[] = [];
  for (let index = 0; index < RENDERS_PER_ROUND; index++) {
    const started = performance.now();
    await render(backend, document);
    times.push(performance.now() - started);
    await delay(PAUSE_MILLISECONDS);
  }
  return times;
}

async function aloneRow(backend: LocalBackend, typstPath: string, document: Document): Promise<Table["rows"][number]> {
  const commandLine: number[] = [];
  const service: number[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    commandLine.push(...commandLineMilliseconds(typstPath, document));
    service.push(...(await backendMilliseconds(backend, document)));
  }
  const [own, bare] = [median(service), median(commandLine)];
  return { name: document.name, cells: [own, bare, own / bare] };
}

function runXargs(typstPath: string, { directory }: Document, count: number): number {
  const command = `seq ${count} | xargs -P ${CAP} -I N "$1" compile --ignore-system-fonts --jobs 1 main.typ out-N.pdf`;
  execFileSync("/bin/sh", ["-c", command, "sh", typstPath], { cwd: directory, stdio: "ignore" });
  return count;
}

function busyMilliseconds(): number {
  return cpus().reduce((sum, { times: { user, nice, sys, irq } }) => sum + user + nice + sys + irq, 0);
}

async function measureLoad(run: () => Promise<number> | number) {
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
  const rowOf = (rounds: readonly (readonly number[])[]) => ({
    name: document.name,
    cells: [0, 1, 2].map((column) => median(rounds.map((round) => round[column] ?? 0))),
  });
  return { capacity: rowOf(capacity), processorTime: rowOf(processorTime) };
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

async function sandboxRows(start: Start, typstPath: string, document: Document): Promise<Table["rows"]> {
  const candidates: { name: string; backend: LocalBackend; times: number[] }[] = [];
  for (const [name, settings] of SANDBOXES) {
    const backend = await start(settings).catch(() => null);
    if (backend === null) progress(`${name}: not available on this machine`);
    else candidates.push({ name, backend, times: [] });
  }
  for (const { backend } of candidates) await backendMilliseconds(backend, document);
  const commandLine: number[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    commandLine.push(...commandLineMilliseconds(typstPath, document));
    for (const { backend, times } of candidates) times.push(...(await backendMilliseconds(backend, document)));
  }
  return candidates.map(({ name, times }) => ({ name, cells: [median(times), median(times) / median(commandLine)] }));
}

async function measure(start: Start, typstPath: string, folder: string) {
  const documents = await makeDocuments(folder);
  const backend = await start({});
  const alone: Table["rows"] = [];
  const loads: Awaited<ReturnType<typeof loadRows>>[] = [];
  for (const document of documents) {
    progress(`${document.name} …`);
    await keepBusy(CAP, WARM_UP_SECONDS, () => render(backend, document));
    alone.push(await aloneRow(backend, typstPath, document));
    loads.push(await loadRows(backend, typstPath, document));
  }
  progress("the sandboxes …");
  return { alone, loads, sandboxes: await sandboxRows(start, typstPath, documents[0]) };
}

function pageOf({ alone, loads, sandboxes }: Awaited<ReturnType<typeof measure>>): string {
  const [atCap, xargs] = [`${CAP} at a time`, `\`xargs -P ${CAP} typst compile\``];
  const table = (subject: string, titles: readonly string[], resultDigits: number, rows: Table["rows"]) => {
    const columns = titles.map((title, index) => ({ title, digits: index === 2 ? resultDigits : 1 }));
    return markdown({ subject, columns, rows });
  };
  const capacity = loads.map((rows) => rows.capacity);
  const processorTime = loads.map((rows) => rows.processorTime);
  return `# Rendering, against Typst on the command line

Made by \`npm run bench:render\` on ${describeMachine()}. The backend is asked over HTTP on the loopback interface, sandboxed
by bubblewrap, with processes started ahead; \`typst compile\` reads the same project from disk. The client runs on the same
cores. Each document is rendered for ${WARM_UP_SECONDS} s before it is measured.

Single requests and single compiles are ${PAUSE_MILLISECONDS} ms apart:

${table("One request at a time", ["backend, p50, ms", "`typst compile`, p50, ms", "ratio"], 2, alone)}

At full capacity, with as many clients as slots, each sending its next request at once:

${table(atCap, ["backend, renders per second", xargs, "ratio"], 2, capacity)}

Ratios and differences under load are medians over ${ROUNDS} rounds, in which the sides take turns. Processor time includes that of the
client.

${table("Processor time of the whole machine", [`${atCap}, ms per render`, `${xargs}, ms`, "difference, ms"], 1, processorTime)}

What a sandbox and a process started ahead mean for a single \`= Hello\`:

${markdown({ subject: "Sandbox", columns: [{ title: "p50, ms", digits: 1 }, { title: "÷ `typst compile`" }], rows: sandboxes })}
`;
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
