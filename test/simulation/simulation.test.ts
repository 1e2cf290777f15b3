/** Thousands of schedules of requests and faults, simulated: CONTRIBUTING.md#simulation. */
import { once } from "node:events";
import { Worker } from "node:worker_threads";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { readMutants } from "./mutants.ts";
import { makeSchedule } from "./schedule.ts";
import { runSchedule } from "./world.ts";

/** Together some seconds on a free core. Many more, of other seeds: `npm run simulate`. */
const SCHEDULES = 400;

/** Thousands of connections break, and their stack traces are never read. */
beforeAll(() => {
  const { stackTraceLimit } = Error;
  Error.stackTraceLimit = 0;
  return () => {
    Error.stackTraceLimit = stackTraceLimit;
  };
});

it(`no invariant is broken by ${SCHEDULES} schedules`, async () => {
  for (let seed = 1; seed <= SCHEDULES; seed++) {
    const violation = await runSchedule(makeSchedule(seed));
    expect(violation, `npm run simulate -- --seed ${seed}`).toBeNull();
  }
});

it("a seed gives the same schedule and the same events each time", async () => {
  const tracesOf = async (seed: number) => {
    const lines: string[] = [];
    await runSchedule(makeSchedule(seed), (line) => lines.push(line));
    return lines;
  };
  for (const seed of [1, 2, 3]) expect(await tracesOf(seed)).toEqual(await tracesOf(seed));
  expect(makeSchedule(1)).not.toEqual(makeSchedule(2));
});

describe("the simulation finds code that", () => {
  // Node warns that it takes the types out of TypeScript.
  const worker = new Worker(new URL("mutants.ts", import.meta.url), {
    execArgv: ["--disable-warning=ExperimentalWarning"],
  });

  afterAll(() => worker.terminate());

  it.each(readMutants())("$mistake", async (mutant) => {
    worker.postMessage(mutant);
    const [found] = await once(worker, "message");
    expect(mutant.invariants.split(", ")).toContain(found);
  });
});
