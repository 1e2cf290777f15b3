/** `npm run simulate`: carries out schedules until an invariant is broken, or one of them line by line. */
import { parseArgs } from "node:util";
import { makeSchedule } from "./schedule.ts";
import { runSchedule } from "./world.ts";

const SCHEDULES_BETWEEN_REPORTS = 10_000;

const { values } = parseArgs({
  options: {
    schedules: { type: "string", default: "10000" },
    "first-seed": { type: "string", default: "1" },
    seed: { type: "string" },
  },
});

// Thousands of connections break, and their stack traces are never read.
Error.stackTraceLimit = 0;

const first = Number(values.seed ?? values["first-seed"]);
const count = values.seed === undefined ? Number(values.schedules) : 1;
const trace = values.seed === undefined ? undefined : (line: string) => console.log(line);
for (let done = 1; done <= count; done++) {
  const seed = first + done - 1;
  const violation = await runSchedule(makeSchedule(seed), trace);
  if (violation !== null) {
    console.error(`${violation.invariant}: ${violation.detail}\nnpm run simulate -- --seed ${seed}`);
    process.exitCode = 1;
    break;
  }
  if (done % SCHEDULES_BETWEEN_REPORTS === 0) console.log(`${done} schedules`);
}
