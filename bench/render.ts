/**
 * `npm run bench:render`: compares rendering through the backend with `typst compile` of the same project, for a
 * one-line document and for the invoice of `examples/`: alone, at full capacity and under overload. Also measures the
 * processor time of a render, and what each sandbox costs. Writes bench/render.md.
 *
 * Only ratios within one run count, so the two sides of each ratio take turns.
 */
import { execFileSync } from "node:child_process";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { availableParallelism, cpus, tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { writeExampleProject } from "../scripts/examples/example-project.ts";
import { exampleRequest } from "../scripts/examples/example-request.ts";
import { type LocalBackend, startBackend, takeFreePort } from "../scripts/start/local-service.ts";
import { requireTypst } from "../typst/program-location.mjs";
import { keepBusy, median } from "./figures.ts";
import { ask, closeConnections } from "./http-client.ts";
import { describeMachine, markdown, publish, type Table } from "./report.ts";

const BACKEND_TOKEN = "bench";
const CAP = availableParallelism();
const ROUNDS = 15;
const RENDERS_PER_ROUND = 8;
/**
 * The pause between two requests, like that between people's requests: a process that is started ahead gets ready in
 * it.
 */
const PAUSE_MILLISECONDS = 50;
/**
 * Until V8 has compiled what every request runs; until then there are about a tenth fewer renders per second
 * (2026-11-23).
 */
const WARM_UP_SECONDS = 30;
const LOAD_ROUNDS = 15;
const LOAD_SECONDS = 4;
const OVERLOAD_FACTOR = 10;

const progress = (line: string) => process.stderr.write(`${line}\n`);

/** Sends a render request, and fails unless it succeeds. */
function post(backend: LocalBackend, body: string): Promise<void> {
  const headers = { "Content-Type": "application/json", "X-Service-Backend-Token": BACKEND_TOKEN };
  return ask(new URL("/v1/render", backend.url), "POST", headers, body);
}

/** A document as a request and as a folder for the command line. */
interface Document {
  readonly name: string;
  readonly body: string;
  readonly directory: string;
}

/** Enough calls that the start of the process does not count. */
const LOOP = "for i in range(100000) { let y = calc.sin(i) }";

/**
 * Documents that call functions where each call is an outermost one: see `stackMap` in backend/sandbox/sandbox-root.ts.
 */
async function makeCallDocuments(folder: string): Promise<Document[]> {
  const sources = [
    ["calls at the top", `#${LOOP}`],
    ["calls in the layout", `#context { ${LOOP} }`],
  ] as const;
  return Promise.all(
    sources.map(async ([name, source]) => {
      const directory = join(folder, name);
      await mkdir(directory);
      await writeFile(join(directory, "main.typ"), source);
      return { name, body: JSON.stringify({ source }), directory };
    }),
  );
}

async function makeDocuments(folder: string): Promise<Document[]> {
  const hello = { name: "`= Hello`", body: JSON.stringify({ source: "= Hello" }), directory: join(folder, "hello") };
  const invoice = {
    name: "invoice",
    body: await exampleRequest("invoice"),
    directory: join(folder, "invoice"),
  };
  await mkdir(hello.directory);
  await mkdir(invoice.directory);
  await writeFile(join(hello.directory, "main.typ"), "= Hello");
  await writeExampleProject("invoice", invoice.directory);
  return [hello, invoice];
}

/** Milliseconds of each `typst compile` in a shell, from the fork to the end of the process. */
function commandLineMilliseconds(typstPath: string, { directory }: Document): number[] {
  const compile = '"$0" compile --ignore-system-fonts --jobs 1 main.typ out.pdf || exit 1';
  const loop = `for i in {1..${RENDERS_PER_ROUND}}; do
    start=\${EPOCHREALTIME//[^0-9]/}; ${compile}; echo $((\${EPOCHREALTIME//[^0-9]/} - start)); sleep ${PAUSE_MILLISECONDS / 1000}
  done`;
  const microseconds = execFileSync("bash", ["-c", loop, typstPath], { cwd: directory, encoding: "utf8" });
  return microseconds
    .trim()
    .split("\n")
    .map((line) => Number(line) / 1000);
}

async function backendMilliseconds(backend: LocalBackend, { body }: Document, count: number): Promise<number[]> {
  const times: number[] = [];
  for (let index = 0; index < count; index++) {
    const started = performance.now();
    await post(backend, body);
    times.push(performance.now() - started);
    await delay(PAUSE_MILLISECONDS);
  }
  return times;
}

/** Good answers per second for this many clients; what comes too late does not count. */
async function goodAnswersPerSecond(
  backend: LocalBackend,
  { body }: Document,
  clients: number,
  seconds = LOAD_SECONDS,
): Promise<number> {
  const end = performance.now() + seconds * 1000;
  let good = 0;
  await keepBusy(clients, seconds, async () => {
    const isGood = await post(backend, body).then(
      () => true,
      () => false,
    );
    if (isGood && performance.now() <= end) good++;
  });
  return good / seconds;
}

/** Renders per second of `xargs -P <cap> typst compile`. */
function xargsPerSecond(typstPath: string, { directory }: Document, count: number): number {
  const command = `seq ${count} | xargs -P ${CAP} -I N "$1" compile --ignore-system-fonts --jobs 1 main.typ out-N.pdf`;
  const started = performance.now();
  execFileSync("/bin/sh", ["-c", command, "sh", typstPath], { cwd: directory, stdio: "ignore" });
  return count / ((performance.now() - started) / 1000);
}

async function aloneRow(backend: LocalBackend, typstPath: string, document: Document): Promise<Table["rows"][number]> {
  const commandLine: number[] = [];
  const service: number[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    commandLine.push(...commandLineMilliseconds(typstPath, document));
    service.push(...(await backendMilliseconds(backend, document, RENDERS_PER_ROUND)));
  }
  const [own, bare] = [median(service), median(commandLine)];
  return { name: document.name, cells: [own, bare, own / bare] };
}

/** The processor time that the machine has spent so far. */
function busyMilliseconds(): number {
  return cpus().reduce((sum, { times: { user, nice, sys, irq } }) => sum + user + nice + sys + irq, 0);
}

interface Load {
  readonly perSecond: number;
  /** Processor time of the whole machine. */
  readonly millisecondsPerRender: number;
}

/** @param run returns its renders per second. */
async function measureLoad(run: () => Promise<number> | number): Promise<Load> {
  const [started, busyBefore] = [performance.now(), busyMilliseconds()];
  const perSecond = await run();
  const renders = (perSecond * (performance.now() - started)) / 1000;
  return { perSecond, millisecondsPerRender: (busyMilliseconds() - busyBefore) / renders };
}

/**
 * The rows for full capacity, for overload and for processor time. Each ratio and each difference is the median of the
 * rounds'.
 */
async function loadRows(backend: LocalBackend, typstPath: string, document: Document) {
  const rounds: { atCap: Load; xargs: Load; overload: number }[] = [];
  for (let round = 0; round < LOAD_ROUNDS; round++) {
    const atCap = await measureLoad(() => goodAnswersPerSecond(backend, document, CAP));
    const count = Math.round(atCap.perSecond * LOAD_SECONDS);
    const xargs = await measureLoad(() => xargsPerSecond(typstPath, document, count));
    const overload = await goodAnswersPerSecond(backend, document, CAP * OVERLOAD_FACTOR);
    rounds.push({ atCap, xargs, overload });
  }
  const medianOf = (figure: (round: (typeof rounds)[number]) => number) => median(rounds.map(figure));
  const perSecond = medianOf(({ atCap }) => atCap.perSecond);
  const { name } = document;
  return {
    capacity: {
      name,
      cells: [
        perSecond,
        medianOf(({ xargs }) => xargs.perSecond),
        medianOf(({ atCap, xargs }) => atCap.perSecond / xargs.perSecond),
      ],
    },
    overload: {
      name,
      cells: [
        medianOf(({ overload }) => overload),
        perSecond,
        medianOf(({ atCap, overload }) => overload / atCap.perSecond),
      ],
    },
    processorTime: {
      name,
      cells: [
        medianOf(({ atCap }) => atCap.millisecondsPerRender),
        medianOf(({ xargs }) => xargs.millisecondsPerRender),
        medianOf(({ atCap, xargs }) => atCap.millisecondsPerRender - xargs.millisecondsPerRender),
      ],
    },
  };
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

async function sandboxRows(start: Start, typstPath: string, document?: Document): Promise<Table["rows"]> {
  if (document === undefined) return [];
  const candidates: { name: string; backend: LocalBackend; times: number[] }[] = [];
  for (const [name, settings] of SANDBOXES) {
    const backend = await start(settings).catch(() => null);
    if (backend === null) progress(`${name}: not available on this machine`);
    else candidates.push({ name, backend, times: [] });
  }
  for (const { backend } of candidates) await backendMilliseconds(backend, document, 10);
  const commandLine: number[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    commandLine.push(...commandLineMilliseconds(typstPath, document));
    for (const { backend, times } of candidates) {
      times.push(...(await backendMilliseconds(backend, document, RENDERS_PER_ROUND)));
    }
  }
  return candidates.map(({ name, times }) => ({ name, cells: [median(times), median(times) / median(commandLine)] }));
}

/** The rows of outermost calls, for a backend that starts no process ahead. */
async function callRows(
  backend: LocalBackend,
  typstPath: string,
  documents: readonly Document[],
): Promise<Table["rows"]> {
  const rows: Table["rows"][number][] = [];
  for (const document of documents) rows.push(await aloneRow(backend, typstPath, document));
  return rows;
}

/** A table of one side, the other side, and what one is to the other. */
function comparison(
  subject: string,
  [one, other]: readonly [string, string],
  result: Table["columns"][number],
  rows: Table["rows"],
): Table {
  return { subject, columns: [{ title: one, digits: 1 }, { title: other, digits: 1 }, result], rows };
}

const RATIO = { title: "ratio" } as const;
const P50 = ["backend, p50, ms", "`typst compile`, p50, ms"] as const;

async function measure(start: Start, typstPath: string, folder: string) {
  const documents = await makeDocuments(folder);
  const backend = await start({});
  const alone: Table["rows"] = [];
  const loads: Awaited<ReturnType<typeof loadRows>>[] = [];
  for (const document of documents) {
    progress(`${document.name}: warming up …`);
    await goodAnswersPerSecond(backend, document, CAP, WARM_UP_SECONDS);
    progress(`${document.name}: alone …`);
    alone.push(await aloneRow(backend, typstPath, document));
    progress(`${document.name}: at full capacity and under overload …`);
    loads.push(await loadRows(backend, typstPath, document));
  }
  progress("the sandboxes …");
  const sandboxes = await sandboxRows(start, typstPath, documents[0]);
  progress("function calls …");
  const calls = await callRows(await start({ SERVICE_WARM_RENDERS: "0" }), typstPath, await makeCallDocuments(folder));
  const atCap = `${CAP} at a time`;
  const xargs = `\`xargs -P ${CAP} typst compile\``;
  return {
    alone: comparison("One request at a time", P50, RATIO, alone),
    capacity: comparison(
      atCap,
      ["backend, renders per second", xargs],
      RATIO,
      loads.map((rows) => rows.capacity),
    ),
    overload: comparison(
      `${CAP * OVERLOAD_FACTOR} at a time`,
      ["good answers per second", `with ${atCap}`],
      RATIO,
      loads.map((rows) => rows.overload),
    ),
    processorTime: comparison(
      "Processor time of the whole machine",
      [`${atCap}, ms per render`, `${xargs}, ms`],
      { title: "difference, ms", digits: 1 },
      loads.map((rows) => rows.processorTime),
    ),
    sandboxes: {
      subject: "Sandbox",
      columns: [{ title: "p50, ms", digits: 1 }, { title: "÷ `typst compile`" }],
      rows: sandboxes,
    } satisfies Table,
    calls: comparison("100,000 calls of a function", ["backend, cold, p50, ms", P50[1]], RATIO, calls),
  };
}

function pageOf(tables: Awaited<ReturnType<typeof measure>>): string {
  return `# Rendering, against Typst on the command line

Made by \`npm run bench:render\` on ${describeMachine()}. The backend is asked over HTTP on the loopback interface, sandboxed
by bubblewrap, with processes started ahead; \`typst compile\` reads the same project from disk. The client runs on the same
cores. Each document is rendered for ${WARM_UP_SECONDS} s before it is measured.

Single requests and single compiles are ${PAUSE_MILLISECONDS} ms apart:

${markdown(tables.alone)}

At full capacity, with as many clients as slots, each sending its next request at once:

${markdown(tables.capacity)}

Under overload, with ${OVERLOAD_FACTOR} times as many clients as slots:

${markdown(tables.overload)}

Ratios and differences under load are medians over ${LOAD_ROUNDS} rounds, in which the sides take turns. Processor time includes that of the
client.

${markdown(tables.processorTime)}

What a sandbox and a process started ahead mean for a single \`= Hello\`:

${markdown(tables.sandboxes)}

What Typst's own work takes in the sandbox, where it cannot read the real \`/proc\`:

${markdown(tables.calls)}
`;
}

async function main(): Promise<void> {
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
}

await main();
