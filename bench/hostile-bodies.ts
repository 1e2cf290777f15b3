/**
 * `npm run bench -- hostile-bodies`: measures the CPU time of validating hostile bodies of 100 KB and of 20 MiB. Writes its
 * section of bench/speed-and-load.md. The goal is 10 ms for 100 KB.
 */
import { DEFAULT_LIMITS, limitsFrom, MAX_KEYS } from "../rules/limits.ts";
import { parseRenderRequest } from "../rules/render-request.ts";
import { HOSTILE_BODIES, type HostileBody } from "../test/support/rules/hostile-bodies.ts";
import { median } from "./figures.ts";
import { describeMachine, markdown, publish, type Table } from "./report.ts";

const SHORT_BYTES = 100_000;
const LONG_BYTES = 20 * 1024 * 1024;
const SHORT_RUNS = 15;
const LONG_RUNS = 1;
const SHORT_GOAL_MILLISECONDS = 10;
const ROWS = 15;

/** As many files as the rules allow, because the rules on the set of files check all of them. */
const LIMITS = limitsFrom({ ...DEFAULT_LIMITS, max_inline_files: MAX_KEYS });

/** CPU time rather than elapsed time, so that other programs on the machine do not count. */
function cpuMilliseconds({ make }: HostileBody, bytes: number, runs: number): number {
  const body = new TextEncoder().encode(make(bytes));
  const times = Array.from({ length: runs }, () => {
    const started = process.cpuUsage();
    parseRenderRequest(body, LIMITS);
    const { user, system } = process.cpuUsage(started);
    return (user + system) / 1000;
  });
  return median(times);
}

const rows = HOSTILE_BODIES.map((body) => ({
  name: body.name,
  short: cpuMilliseconds(body, SHORT_BYTES, SHORT_RUNS),
  long: cpuMilliseconds(body, LONG_BYTES, LONG_RUNS),
})).toSorted((left, right) => right.short - left.short);

const slowest = Math.max(...rows.map(({ long }) => long));
const table: Table = {
  subject: "Shape",
  columns: [
    { title: "100 KB", digits: 1, unit: " ms" },
    { title: "20 MiB", digits: 0, unit: " ms" },
  ],
  rows: rows.slice(0, ROWS).map(({ name, short, long }) => ({ name, cells: [short, long] })),
};
const section = `## Hostile bodies

The CPU time of one validation, the median of ${SHORT_RUNS} runs (100 KB) or of ${LONG_RUNS} (20 MiB), garbage collection included; the
${ROWS} slowest of ${rows.length} shapes (test/support/rules/hostile-bodies.ts). Goal: ${SHORT_GOAL_MILLISECONDS} ms for 100 KB. \`npm run bench -- hostile-bodies\` makes this section.

${describeMachine()}

${markdown(table)}

The slowest shape of 20 MiB takes ${slowest.toFixed(0)} ms.
`;
await publish("speed-and-load", section);
if (rows.some(({ short }) => short > SHORT_GOAL_MILLISECONDS)) process.exitCode = 1;
