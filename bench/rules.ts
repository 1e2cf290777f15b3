/**
 * `npm run bench -- rules`: compares the validation of request bodies with parsing alone, in Node and inside workerd, and
 * measures its memory. Writes bench/rules.md.
 *
 * Only ratios within one run count: the contestants take turns, so that the load of the machine affects all of them
 * equally.
 */
import { execFileSync } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { startWorkerFile } from "../scripts/start/local-service.ts";
import { median } from "./figures.ts";
import { describeMachine, markdown, publish, type Table } from "./report.ts";
import { BODIES, BODIES_BY_SIZE } from "./rules/bodies.ts";
import { CONTESTANTS } from "./rules/worker.ts";

const NAMES = ["validate", "parse"] as const;
type Times = Record<(typeof NAMES)[number], number>;

const MEBIBYTE = 1024 * 1024;
/** Bytes per series of runs: enough for a stable median, within two minutes in all. */
const BYTES_A_SERIES = 400 * MEBIBYTE;
const ROUNDS = 9;
const SETTLE_MILLISECONDS = 200;

function repeatsFor(body: Uint8Array): number {
  return Math.min(20_000, Math.max(1, Math.floor(BYTES_A_SERIES / ROUNDS / 20 / body.length)));
}

async function measure(
  run: (name: (typeof NAMES)[number], repeat: number) => Promise<number>,
  repeat: number,
): Promise<Times> {
  const times: Record<string, number[]> = { validate: [], parse: [] };
  for (const name of NAMES) await run(name, repeat);
  for (let round = 0; round < ROUNDS; round++) {
    for (const name of NAMES) times[name]?.push((await run(name, repeat)) / repeat);
  }
  return { validate: median(times.validate ?? []), parse: median(times.parse ?? []) };
}

async function measureInNode(body: Uint8Array): Promise<Times> {
  return measure(async (name, repeat) => {
    const started = performance.now();
    for (let index = 0; index < repeat; index++) {
      if (!CONTESTANTS[name](body)) throw new Error(`${name} rejects the body`);
    }
    return performance.now() - started;
  }, repeatsFor(body));
}

async function measureInWorkerd(url: URL, body: Uint8Array<ArrayBuffer>): Promise<Times> {
  // First `fetch` has to notice that workerd has closed idle connections while this process was measuring.
  await delay(SETTLE_MILLISECONDS);
  await fetch(url, { method: "POST", body });
  const ask = async (name: string, repeat: number) => {
    const started = performance.now();
    const answer = await fetch(new URL(`/?contestant=${name}&repeat=${repeat}`, url));
    if ((await answer.text()) !== "accepted") throw new Error(`${name} rejects the body in workerd`);
    return performance.now() - started;
  };
  const repeat = repeatsFor(body);
  const overheads: number[] = [];
  for (let index = 0; index < 20; index++) overheads.push(await ask("none", 1));
  const overhead = median(overheads);
  return measure(async (name, count) => Math.max(0, (await ask(name, count)) - overhead), repeat);
}

function memoryOf(bodyName: string, contestant: string): number {
  const program = fileURLToPath(new URL("rules/memory.ts", import.meta.url));
  return Number(execFileSync(process.execPath, ["--expose-gc", program, bodyName, contestant], { encoding: "utf8" }));
}

/** Cloudflare's limits on CPU time per request: on the free plan, and the default on a paid one. */
const CPU_LIMITS_MILLISECONDS = { free: 10, paid: 30_000 };
const CPU_RUNS_MILLISECONDS = 900;
const COLD_STARTS = 3;

/** CPU time so far of the workerd of this process, all threads together; it runs one Worker. Linux only. */
function workerdCpuMilliseconds(): number {
  const children = readFileSync(`/proc/self/task/${process.pid}/children`, "utf8").split(" ");
  const workerd = children.find((pid) => pid !== "" && readFileSync(`/proc/${pid}/comm`, "utf8").startsWith("workerd"));
  if (workerd === undefined) throw new Error("workerd is not among the processes of the benchmark");
  const tasks = `/proc/${workerd}/task`;
  const nanoseconds = readdirSync(tasks).map((task) => {
    return Number(readFileSync(`${tasks}/${task}/schedstat`, "utf8").split(" ")[0]);
  });
  return nanoseconds.reduce((sum, value) => sum + value, 0) / 1e6;
}

/** CPU time in workerd of this many validations in one request, minus that of an empty request. */
async function cpuMilliseconds(url: URL, repeat: number): Promise<number> {
  const spent = async (contestant: string) => {
    const before = workerdCpuMilliseconds();
    await (await fetch(new URL(`/?contestant=${contestant}&repeat=${repeat}`, url))).text();
    return workerdCpuMilliseconds() - before;
  };
  const nothing = await spent("none");
  return Math.max(0, (await spent("validate")) - nothing);
}

async function measureCpu(name: string, body: Uint8Array<ArrayBuffer>): Promise<Table["rows"][number]> {
  const cold: number[] = [];
  const warm: number[] = [];
  for (let start = 0; start < COLD_STARTS; start++) {
    const worker = await startWorkerFile(fileURLToPath(new URL("rules/worker.ts", import.meta.url)));
    try {
      await fetch(worker.url, { method: "POST", body });
      cold.push(await cpuMilliseconds(worker.url, 1));
      const repeat = Math.max(
        1,
        Math.min(20_000, Math.round(CPU_RUNS_MILLISECONDS / COLD_STARTS / (cold.at(-1) ?? 1))),
      );
      await cpuMilliseconds(worker.url, repeat);
      warm.push((await cpuMilliseconds(worker.url, repeat)) / repeat);
    } finally {
      await worker.stop();
    }
  }
  const { free, paid } = CPU_LIMITS_MILLISECONDS;
  const coldMilliseconds = median(cold);
  return { name, cells: [coldMilliseconds, median(warm), coldMilliseconds / free, (100 * coldMilliseconds) / paid] };
}

async function measureAllCpu(): Promise<Table> {
  const rows: Table["rows"] = [];
  for (const [name, make] of Object.entries(BODIES_BY_SIZE)) {
    process.stderr.write(`CPU time of ${name} …\n`);
    rows.push(await measureCpu(name, make()));
  }
  return {
    subject: "Body",
    columns: [
      { title: "first in a fresh isolate, CPU ms", digits: 1 },
      { title: "later, CPU ms", digits: 3 },
      { title: "first ÷ 10 ms (free)" },
      { title: "first ÷ 30 s (paid)", unit: " %" },
    ],
    rows,
  };
}

/** The time of the validation and of parsing alone, and their memory. */
async function measureBodies(): Promise<{ readonly times: Table; readonly memory: Table }> {
  const worker = await startWorkerFile(fileURLToPath(new URL("rules/worker.ts", import.meta.url)));
  const rows: { name: string; cells: number[] }[] = [];
  const memoryRows: Table["rows"] = [];
  try {
    for (const [name, make] of Object.entries(BODIES)) {
      process.stderr.write(`${name} …\n`);
      const body = make();
      const node = await measureInNode(body);
      const workerd = await measureInWorkerd(worker.url, body);
      rows.push({ name, cells: [node.validate, node.validate / node.parse, workerd.validate / workerd.parse] });
      const bytes = [
        body.length,
        memoryOf(name, "validate"),
        0.1 * body.length + 2 * MEBIBYTE,
        memoryOf(name, "parse"),
      ];
      memoryRows.push({ name, cells: bytes.map((size) => size / MEBIBYTE) });
    }
  } finally {
    await worker.stop();
  }
  const summary = (name: string, of: (figures: number[]) => number) => {
    const columns = [1, 2].map((column) => of(rows.map(({ cells }) => cells[column] ?? 0)));
    return { name, cells: [null, ...columns] };
  };
  return {
    times: {
      subject: "Body",
      columns: [
        { title: "validate, ms in Node", digits: 3 },
        { title: "÷ parse, Node" },
        { title: "÷ parse, workerd" },
      ],
      rows: [...rows, summary("median", median), summary("worst", (figures) => Math.max(...figures))],
    },
    memory: {
      subject: "Body",
      columns: [{ title: "body" }, { title: "validate" }, { title: "allowed: 0.1 × body + 2" }, { title: "parse" }],
      rows: memoryRows,
    },
  };
}

async function main(): Promise<void> {
  const { times, memory } = await measureBodies();
  const cpu = await measureAllCpu();
  await publish(
    "rules",
    `# Validating a request

Made by \`npm run bench -- rules\` on ${describeMachine()}.

\`validate\` is the service's validation of a body; \`parse\` is \`JSON.parse(new TextDecoder().decode(body))\`, which validates
nothing.

${markdown(times)}

Peak of the resident set, above its size with the body in memory, for one run in a fresh process, in MiB:

${markdown(memory)}

CPU time of one validation in workerd, all its threads together, compiling included, against the limits of Cloudflare's plans
for a whole request:

${markdown(cpu)}
`,
  );
}

await main();
