/**
 * `npm run bench:render`: what the service adds to Typst. The invoice example through the backend against `typst compile`
 * of the same project, alone, at full capacity and under overload; and what each sandbox costs. Writes bench/render.md.
 *
 * Only ratios of one run count, so the two sides of each ratio take turns.
 */
import { execFileSync } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { Agent, request } from "node:http";
import { availableParallelism, tmpdir } from "node:os";
import { join } from "node:path";
import { writeExampleProject } from "../scripts/example-project.ts";
import { exampleRequest } from "../scripts/example-request.ts";
import { type LocalBackend, startBackend, takeFreePort } from "../scripts/local-service.ts";
import { locateTypst } from "../scripts/typst-location.mjs";
import { describeMachine } from "./machine.ts";
import { median } from "./median.ts";
import { markdown, publish, type Table } from "./report.ts";

const BACKEND_TOKEN = "bench";
const CAP = availableParallelism();
const ROUNDS = 15;
const RENDERS_A_ROUND = 8;
const LOAD_SECONDS = 8;
const OVERLOAD_FACTOR = 10;

const progress = (line: string) => process.stderr.write(`${line}\n`);

/** Kept connections and no more than node:http: the client shares the machine, and what it costs is not the service's. */
const agent = new Agent({ keepAlive: true });

function post(backend: LocalBackend, body: string): Promise<number> {
  const { promise, resolve, reject } = Promise.withResolvers<number>();
  const headers = { "Content-Type": "application/json", "X-Service-Backend-Token": BACKEND_TOKEN };
  const call = request(new URL("/v1/render", backend.url), { method: "POST", agent, headers }, (answer) => {
    answer.resume().on("end", () => resolve(answer.statusCode ?? 0));
  });
  call.on("error", reject).end(body);
  return promise;
}

/** Milliseconds of one `typst compile`, as the mean of a few in one shell: its own start is not counted in full. */
function commandLineMilliseconds(typstPath: string, directory: string, repeat: number): number {
  const loop = `i=0; while [ $i -lt ${repeat} ]; do "$1" compile --ignore-system-fonts --jobs 1 main.typ out.pdf || exit 1; i=$((i+1)); done`;
  const started = performance.now();
  execFileSync("/bin/sh", ["-c", loop, "sh", typstPath], { cwd: directory, stdio: "ignore" });
  return (performance.now() - started) / repeat;
}

async function backendMilliseconds(backend: LocalBackend, body: string, repeat: number): Promise<number> {
  const times: number[] = [];
  for (let index = 0; index < repeat; index++) {
    const started = performance.now();
    if ((await post(backend, body)) !== 200) throw new Error("the invoice was not rendered");
    times.push(performance.now() - started);
  }
  return median(times);
}

/** Good answers a second of so many clients, each asking again as soon as it is answered. */
async function goodAnswersPerSecond(backend: LocalBackend, body: string, clients: number): Promise<number> {
  let good = 0;
  const started = performance.now();
  const isOver = () => performance.now() - started > LOAD_SECONDS * 1000;
  await Promise.all(
    Array.from({ length: clients }, async () => {
      while (!isOver()) if ((await post(backend, body)) === 200 && !isOver()) good++;
    }),
  );
  return good / LOAD_SECONDS;
}

/** Renders a second of `xargs -P <cap> typst compile`. */
function xargsPerSecond(typstPath: string, directory: string, count: number): number {
  const command = `seq ${count} | xargs -P ${CAP} -I N "$1" compile --ignore-system-fonts --jobs 1 main.typ out-N.pdf`;
  const started = performance.now();
  execFileSync("/bin/sh", ["-c", command, "sh", typstPath], { cwd: directory, stdio: "ignore" });
  return count / ((performance.now() - started) / 1000);
}

async function main(): Promise<void> {
  const typst = await locateTypst();
  if ("error" in typst) throw new Error(typst.error);
  const directory = await mkdtemp(join(tmpdir(), "bench-render-"));
  const backends: LocalBackend[] = [];
  const start = async (settings: Record<string, string>) => {
    const environment = {
      SERVICE_TYPST_BIN: typst.path,
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
    await writeExampleProject("invoice", directory);
    const body = await exampleRequest("invoice");
    const sandboxed = await start({});

    progress("alone …");
    const alone = { commandLine: [] as number[], backend: [] as number[] };
    commandLineMilliseconds(typst.path, directory, RENDERS_A_ROUND);
    await backendMilliseconds(sandboxed, body, 20);
    for (let round = 0; round < ROUNDS; round++) {
      alone.commandLine.push(commandLineMilliseconds(typst.path, directory, RENDERS_A_ROUND));
      alone.backend.push(await backendMilliseconds(sandboxed, body, RENDERS_A_ROUND));
    }
    const commandLine = median(alone.commandLine);
    const backend = median(alone.backend);

    progress("at full capacity …");
    const atCap: number[] = [];
    const xargs: number[] = [];
    const overload: number[] = [];
    for (let round = 0; round < 3; round++) {
      atCap.push(await goodAnswersPerSecond(sandboxed, body, CAP));
      xargs.push(xargsPerSecond(typst.path, directory, Math.round(median(atCap) * LOAD_SECONDS)));
      progress("under overload …");
      overload.push(await goodAnswersPerSecond(sandboxed, body, CAP * OVERLOAD_FACTOR));
    }

    progress("the sandboxes …");
    const modes: [string, Record<string, string>][] = [
      ["none, cold", { SERVICE_SANDBOX: "none", SERVICE_WARM_RENDERS: "0" }],
      ["none, warm", { SERVICE_SANDBOX: "none" }],
      ["bubblewrap, cold", { SERVICE_WARM_RENDERS: "0" }],
      ["bubblewrap, warm", {}],
      ["landlock, cold", { SERVICE_SANDBOX: "landlock", SERVICE_WARM_RENDERS: "0" }],
      ["landlock, warm", { SERVICE_SANDBOX: "landlock" }],
    ];
    const candidates: { name: string; backend: LocalBackend; times: number[] }[] = [];
    for (const [name, settings] of modes) {
      const candidate = await start(settings).catch(() => null);
      if (candidate === null) progress(`${name}: not to be had on this machine`);
      else candidates.push({ name, backend: candidate, times: [] });
    }
    for (const { backend: candidate } of candidates) await backendMilliseconds(candidate, body, 10);
    for (let round = 0; round < ROUNDS; round++) {
      for (const candidate of candidates) {
        candidate.times.push(await backendMilliseconds(candidate.backend, body, RENDERS_A_ROUND));
      }
    }
    const bare = median(candidates[0]?.times ?? []);
    const capacity = { backend: median(atCap), typst: median(xargs), overload: median(overload) };
    const typstTable: Table = {
      subject: "",
      columns: [
        { title: "backend", digits: 1 },
        { title: "Typst alone", digits: 1 },
        { title: "ratio", better: "lower" },
      ],
      rows: [
        { name: "one after the other: median, ms", cells: [backend, commandLine, backend / commandLine] },
        {
          name: `${CAP} at once: renders per second (\`xargs -P ${CAP}\`)`,
          better: "higher",
          cells: [capacity.backend, capacity.typst, capacity.backend / capacity.typst],
        },
      ],
    };
    const overloadTable: Table = {
      subject: "",
      columns: [
        { title: `under ${OVERLOAD_FACTOR} × overload`, digits: 1 },
        { title: "at capacity", digits: 1 },
        { title: "ratio", better: "higher" },
      ],
      rows: [
        {
          name: "good answers per second",
          cells: [capacity.overload, capacity.backend, capacity.overload / capacity.backend],
        },
      ],
    };
    const sandboxTable: Table = {
      subject: "Sandbox",
      columns: [
        { title: "median, ms", digits: 1 },
        { title: "more than none, cold", digits: 1 },
        { title: "÷ `typst compile`", better: "lower" },
      ],
      rows: candidates.map(({ name, times }) => {
        const milliseconds = median(times);
        return { name, cells: [milliseconds, milliseconds - bare, milliseconds / commandLine] };
      }),
    };

    const report = `# What the service adds to Typst

Made by \`npm run bench:render\` on ${describeMachine()}. The document is the invoice of \`examples/\`; the backend is asked
over HTTP on the loopback interface, sandboxed by bubblewrap, with warm starts; \`typst compile\` reads the same project
from disk.

${markdown(typstTable)}

${markdown(overloadTable)}

What the sandbox costs, one request after the other:

${markdown(sandboxTable)}
`;
    await publish("render", report, [typstTable, overloadTable, sandboxTable]);
  } finally {
    agent.destroy();
    await Promise.all(backends.map((running) => running.stop()));
    await rm(directory, { recursive: true, force: true });
  }
}

await main();
