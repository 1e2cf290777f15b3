/** `npm run bench -- rules`: time and memory of validating a body beside those of parsing alone, by turns. */
import { fileURLToPath } from "node:url";
import { execa } from "execa";
import { formatTable } from "../scripts/generate/markdown-table.ts";
import { childrenOf, listPids, readProc } from "../test/support/backend/processes.ts";
import { startWorkerFile } from "../test/support/service/local-worker.ts";
import { median } from "./figures.ts";
import { describeMachine, formatFigures, publish } from "./report.ts";
import { BODIES } from "./rules/bodies.ts";
import { CONTESTANTS } from "./rules/worker.ts";

const MEBIBYTE = 1024 * 1024;
const BYTES_A_ROUND = 2 * MEBIBYTE;
const MAX_REPEATS = 20_000;
const ROUNDS = 9;

const CPU_BODIES = ["1 KiB request", "20 MiB of Base64 files", "20 MiB of numbers"];
const CPU_RUNS_MILLISECONDS = 300;
const COLD_STARTS = 3;

const repeatsFor = (total: number, one: number) => Math.min(MAX_REPEATS, Math.max(1, Math.floor(total / one)));
const pathOf = (path: string) => fileURLToPath(new URL(path, import.meta.url));

function measureTime(body: Uint8Array): string[] {
  const repeat = repeatsFor(BYTES_A_ROUND, body.length);
  const times = { validate: [] as number[], parse: [] as number[] };
  for (let round = -1; round < ROUNDS; round++) {
    for (const name of ["validate", "parse"] as const) {
      const started = performance.now();
      for (let index = 0; index < repeat; index++) {
        if (!CONTESTANTS[name](body)) throw new Error(`${name} rejects the body`);
      }
      if (round >= 0) times[name].push((performance.now() - started) / repeat);
    }
  }
  const [validate, parse] = [median(times.validate), median(times.parse)];
  return [validate.toFixed(3), (validate / parse).toFixed(2)];
}

async function memoryOf(bodyName: string, contestant: string): Promise<number> {
  const args = ["--expose-gc", pathOf("rules/memory.ts"), bodyName, contestant];
  return Number((await execa(process.execPath, args)).stdout);
}

/** CPU time so far of the workerd of this process, all threads together; it runs one Worker. Linux only. */
function workerdCpuMilliseconds(): number {
  const workerd = childrenOf(process.pid).find((pid) => readProc(`${pid}/comm`).startsWith("workerd"));
  const nanoseconds = listPids(`${workerd}/task`).map((task) => {
    return Number(readProc(`${workerd}/task/${task}/schedstat`).split(" ")[0]);
  });
  return nanoseconds.reduce((sum, value) => sum + value, 0) / 1e6;
}

/** CPU time in workerd of this many validations in one request, minus that of an empty request. */
async function cpuMilliseconds(url: URL, repeat: number): Promise<number> {
  const spent = async (contestant: string) => {
    const before = workerdCpuMilliseconds();
    const answer = await fetch(new URL(`/?contestant=${contestant}&repeat=${repeat}`, url));
    if ((await answer.text()) !== "accepted") throw new Error(`${contestant} rejects the body in workerd`);
    return workerdCpuMilliseconds() - before;
  };
  const nothing = await spent("none");
  return Math.max(0, (await spent("validate")) - nothing);
}

async function measureCpu(body: Uint8Array<ArrayBuffer>): Promise<string[]> {
  const cold: number[] = [];
  const warm: number[] = [];
  for (let start = 0; start < COLD_STARTS; start++) {
    const worker = await startWorkerFile(pathOf("rules/worker.ts"));
    try {
      await fetch(worker.url, { method: "POST", body });
      const first = await cpuMilliseconds(worker.url, 1);
      cold.push(first);
      const repeat = repeatsFor(CPU_RUNS_MILLISECONDS, first);
      await cpuMilliseconds(worker.url, repeat);
      warm.push((await cpuMilliseconds(worker.url, repeat)) / repeat);
    } finally {
      await worker.stop();
    }
  }
  const [first, later] = [median(cold), median(warm)];
  // Cloudflare's limits on CPU time per request: on the free plan, and the default on a paid one.
  return [first.toFixed(1), later.toFixed(3), (first / 10).toFixed(2), `${((100 * first) / 30_000).toFixed(2)} %`];
}

const times: string[][] = [];
const memory: string[][] = [];
const cpu: string[][] = [];
for (const [name, make] of Object.entries(BODIES)) {
  process.stderr.write(`${name} …\n`);
  const body = make();
  times.push([name, ...measureTime(body)]);
  const allowed = 0.1 * body.length + 2 * MEBIBYTE;
  const bytes = [body.length, await memoryOf(name, "validate"), allowed, await memoryOf(name, "parse")];
  memory.push([name, ...formatFigures(2, ...bytes.map((size) => size / MEBIBYTE))]);
  if (CPU_BODIES.includes(name)) cpu.push([name, ...(await measureCpu(body))]);
}
const cpuHead = ["first in a fresh isolate, CPU ms", "later, CPU ms", "first ÷ 10 ms (free)", "first ÷ 30 s (paid)"];
await publish(
  "rules",
  `# Validating a request

Made by \`npm run bench -- rules\` on ${describeMachine()}.

\`validate\` is the service's validation of a body; \`parse\` is \`JSON.parse(new TextDecoder().decode(body))\`, which validates
nothing.

${formatTable(["Body", "validate, ms in Node", "÷ parse, Node"], times)}
Peak of the resident set, above its size with the body in memory, for one run in a fresh process, in MiB:

${formatTable(["Body", "body", "validate", "allowed: 0.1 × body + 2", "parse"], memory)}
CPU time of one validation in workerd, all its threads together, compiling included, against the limits of Cloudflare's plans
for a whole request:

${formatTable(["Body", ...cpuHead], cpu)}`,
);
