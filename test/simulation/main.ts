/** `npm run simulate`: carries out schedules, one seed after another, until an invariant is broken. */
import { parseArgs } from "node:util";
import { makeSchedule } from "./schedule.ts";
import { shrink } from "./shrink.ts";
import { runSchedule } from "./world.ts";

const DEFAULT_SCHEDULES = 10_000;
const SCHEDULES_BETWEEN_REPORTS = 1000;

const { values } = parseArgs({
  options: {
    schedules: { type: "string", default: String(DEFAULT_SCHEDULES) },
    "first-seed": { type: "string", default: "1" },
    seed: { type: "string" },
    shrink: { type: "boolean", default: false },
    trace: { type: "boolean", default: false },
  },
});

// Thousands of connections break, and their stack traces are never read.
Error.stackTraceLimit = 0;

process.exitCode = values.seed === undefined ? await runMany() : await runOne(Number(values.seed));

async function runMany(): Promise<number> {
  const first = Number(values["first-seed"]);
  const count = Number(values.schedules);
  const began = performance.now();
  const statuses = new Map<string, number>();
  let events = 0;
  const report = (done: number) => {
    const seconds = (performance.now() - began) / 1000;
    const counts = [...statuses].sort().map(([status, requests]) => `${status}: ${requests}`);
    console.log(
      `${done} schedules, ${(done / seconds).toFixed(0)} per second, ${events} events; answers: ${counts.join(", ")}`,
    );
  };
  for (let seed = first; seed < first + count; seed++) {
    const run = await runSchedule(makeSchedule(seed));
    events += run.events;
    for (const { answers, leftAt } of run.requests) {
      const key = leftAt === null ? String(answers[0]?.status) : "left";
      statuses.set(key, (statuses.get(key) ?? 0) + 1);
    }
    if (run.violation !== null) {
      console.error(`Seed ${seed} breaks ${run.violation.invariant}: ${run.violation.detail}`);
      console.error(`npm run simulate -- --seed ${seed} --shrink --trace`);
      return 1;
    }
    const done = seed - first + 1;
    if (done % SCHEDULES_BETWEEN_REPORTS === 0 || done === count) report(done);
  }
  return 0;
}

async function runOne(seed: number): Promise<number> {
  let schedule = makeSchedule(seed);
  if (values.shrink) {
    const { violation } = await runSchedule(schedule);
    if (violation !== null) schedule = await shrink(schedule, violation.invariant);
  }
  if (values.trace) console.log(JSON.stringify({ ...schedule, requests: schedule.requests.length }, null, 2));
  const { violation } = await runSchedule(schedule, values.trace ? (line) => console.log(line) : undefined);
  if (violation === null) return 0;
  console.error(`${violation.invariant}: ${violation.detail}`);
  return 1;
}
