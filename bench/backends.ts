/**
 * `npm run bench:backends`: what it costs when one of three backends fails. Clients render without a break through the edge, and
 * check each answer, while one backend after another is killed, stopped or cut off, one fault at a time. Writes bench/backends.md.
 *
 * `BACKENDS_SECONDS` is how long it takes. Everything shares the cores of one machine, so only the ratio of the rows of one run counts.
 */
import { setTimeout as delay } from "node:timers/promises";
import { locateTypst } from "../machine/typst-location.mjs";
import { FAULTS, type Fault, Load, type LoadResult, TestFleet } from "../test/support/test-fleet.ts";
import { BACKEND_TOKEN } from "../test/support/tokens.ts";
import { describeMachine } from "./machine.ts";
import { median } from "./median.ts";
import { markdown, publish, type Table } from "./report.ts";

const SECONDS = Number(process.env.BACKENDS_SECONDS ?? 96);
const BACKENDS = 3;
const CLIENTS = 6;
/** Longer than the edge needs to find out that a backend is silent. */
const FAULT_SECONDS = 12;
const HEALED_SECONDS = 4;

const progress = (line: string) => process.stderr.write(`${line}\n`);

interface Phase {
  readonly milliseconds: number[];
  readonly failures: string[];
}

function add({ milliseconds, failures }: Phase, result: LoadResult): void {
  milliseconds.push(...result.milliseconds);
  failures.push(...result.lost.map((text) => `lost: ${text}`), ...result.wrong.map((text) => `wrong: ${text}`));
}

function tableOf(phases: ReadonlyMap<string, Phase>): Table {
  const alone = median(phases.get("no fault")?.milliseconds ?? []);
  return {
    subject: "One backend of three",
    columns: [
      { title: "renders", digits: 0 },
      { title: "lost or wrong", digits: 0, better: "lower" },
      { title: "p50 in ms", digits: 1 },
      { title: "p99 in ms", digits: 1 },
      { title: "longest in ms", digits: 0 },
      { title: "p50 ÷ no fault", better: "lower" },
    ],
    rows: [...phases].map(([name, { milliseconds, failures }]) => {
      const sorted = milliseconds.toSorted((left, right) => left - right);
      const p99 = sorted[Math.floor(sorted.length * 0.99)] ?? null;
      const p50 = median(milliseconds);
      return { name, cells: [sorted.length, failures.length, p50, p99, sorted.at(-1) ?? null, p50 / alone] };
    }),
  };
}

async function main(): Promise<void> {
  const typst = await locateTypst();
  if ("error" in typst) throw new Error(typst.error);
  const fleet = await TestFleet.start({
    backends: BACKENDS,
    backendSettings: {
      SERVICE_TYPST_BIN: typst.path,
      SERVICE_BACKEND_TOKENS: BACKEND_TOKEN,
      SERVICE_LOG_LEVEL: "silent",
      SERVICE_MAX_CONCURRENT_RENDERS: "2",
    },
    isLinked: true,
  });
  const load = new Load(CLIENTS, () => fleet.edge.url);
  const phases = new Map<string, Phase>();
  const observe = async (name: string, seconds: number) => {
    await delay(seconds * 1000);
    const phase = phases.get(name) ?? { milliseconds: [], failures: [] };
    phases.set(name, phase);
    const result = load.take();
    add(phase, result);
    progress(`${name}: ${result.good} good, ${result.lost.length} lost, ${result.wrong.length} wrong`);
  };
  try {
    const cycle = FAULT_SECONDS + HEALED_SECONDS;
    const faults: Fault[] = Array.from(
      { length: Math.max(1, Math.floor(SECONDS / cycle)) },
      (_, index) => FAULTS[index % FAULTS.length] ?? "killed",
    );
    await observe("no fault", FAULT_SECONDS);
    for (const [index, fault] of faults.entries()) {
      const berth = fleet.berth(index % BACKENDS);
      await berth.disturb(fault);
      await observe(fault, FAULT_SECONDS);
      await berth.heal(fault);
      await observe(`healed after ${fault}`, HEALED_SECONDS);
    }
    const rest = await load.end();
    const last = phases.get("no fault");
    if (last !== undefined) add(last, rest);
    const table = tableOf(phases);
    const page = `# What the failure of a backend costs

Made by \`BACKENDS_SECONDS=${SECONDS} npm run bench:backends\` on ${describeMachine()}. Clients, edge and backends share the machine.

${CLIENTS} clients render one page after another and check it; ${BACKENDS} backends with two slots each. One backend after another fails for
${FAULT_SECONDS} s and has ${HEALED_SECONDS} s to come back: it is killed, stopped (\`SIGSTOP\`), or its network goes silent, resets every connection, or accepts
connections and never answers.

${markdown(table)}
`;
    for (const { failures } of phases.values()) for (const failure of failures) progress(failure);
    await publish("backends", page, [table]);
  } finally {
    await fleet.stop();
  }
}

await main();
