/** `npm run bench -- hostile-bodies`: the CPU time of validating hostile bodies. The goal is 10 ms for 100 KB. */
import { DEFAULT_LIMITS, limitsFrom, MAX_KEYS } from "../rules/limits.ts";
import { parseRenderRequest } from "../rules/render-request.ts";
import { formatTable } from "../scripts/generate/markdown-table.ts";
import { HOSTILE_BODIES } from "../test/support/rules/hostile-bodies.ts";
import { median } from "./figures.ts";
import { describeMachine, publish } from "./report.ts";

const RUNS = 15;
const GOAL_MILLISECONDS = 10;
const ROWS = 15;

/** As many files as the rules allow, because the rules on the set of files check all of them. */
const LIMITS = limitsFrom({ ...DEFAULT_LIMITS, max_inline_files: MAX_KEYS });

/** CPU time rather than elapsed time, so that other programs on the machine do not count. */
function cpuMilliseconds(text: string, runs: number): number {
  const body = new TextEncoder().encode(text);
  const times = Array.from({ length: runs }, () => {
    const started = process.cpuUsage();
    parseRenderRequest(body, LIMITS);
    const { user, system } = process.cpuUsage(started);
    return (user + system) / 1000;
  });
  return median(times);
}

const rows = HOSTILE_BODIES.map(({ name, make }) => {
  const [short, long] = [cpuMilliseconds(make(100_000), RUNS), cpuMilliseconds(make(20 * 1024 ** 2), 1)];
  return { short, cells: [name, `${short.toFixed(1)} ms`, `${long.toFixed()} ms`] };
}).toSorted((left, right) => right.short - left.short);
const slowest = rows.slice(0, ROWS).map(({ cells }) => cells);
await publish(
  "speed-and-load",
  `## Hostile bodies

The CPU time of one validation, the median of ${RUNS} runs (100 KB) or of 1 (20 MiB), garbage collection included; the
${ROWS} slowest of ${rows.length} shapes (test/support/rules/hostile-bodies.ts). Goal: ${GOAL_MILLISECONDS} ms for 100 KB. \`npm run bench -- hostile-bodies\` makes this section.

${describeMachine()}

${formatTable(["Shape", "100 KB", "20 MiB"], slowest)}`,
);
if (rows.some(({ short }) => short > GOAL_MILLISECONDS)) process.exitCode = 1;
