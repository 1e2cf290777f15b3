/** Thousands of schedules of requests and faults, simulated: CONTRIBUTING.md#simulation. */
import { once } from "node:events";
import { Worker } from "node:worker_threads";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { readMutants } from "./mutants.ts";
import { measureScale, type Scale } from "./scale.ts";
import { makeSchedule } from "./schedule.ts";
import { shrink } from "./shrink.ts";
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
    const { violation } = await runSchedule(makeSchedule(seed));
    expect(violation, `npm run simulate -- --seed ${seed} --shrink --trace`).toBeNull();
  }
});

it("a seed gives the same schedule and the same events each time", async () => {
  const tracesOf = async (seed: number) => {
    const lines: string[] = [];
    const { events } = await runSchedule(makeSchedule(seed), (line) => lines.push(line));
    return { events, lines };
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

it("a schedule that breaks an invariant is made smaller", async () => {
  const schedule = makeSchedule(3);
  const [request] = schedule.requests;
  const run = async ({ requests }: typeof schedule) => {
    return { violation: request !== undefined && requests.includes(request) ? { invariant: "x", detail: "" } : null };
  };
  expect(await shrink(schedule, "x", run)).toEqual({ ...schedule, requests: [request], faults: [] });
});

describe("the figures of many edges and backends", () => {
  /** Its renders need one slot of three. */
  const roomy: Scale = {
    edges: 2,
    backends: 3,
    slots: 1,
    quietPerSecond: 4,
    loudPerSecond: 0,
    maxWaiting: 256,
    seconds: 10,
    isRestarted: false,
  };

  it("are the same each time", async () => {
    expect(await measureScale(1, roomy)).toEqual(await measureScale(1, roomy));
  });

  it("show no refusal while there is room, and no wait where there are many more slots than renders", async () => {
    expect(await measureScale(1, roomy)).toMatchObject({ requests: 40, refused: 0, failed: 0, wastedUploads: 0 });
    const { waitedThoughFree, longestWaitSeconds } = await measureScale(1, { ...roomy, slots: 40 });
    expect(waitedThoughFree).toBe(0);
    expect(longestWaitSeconds).toBeLessThan(0.1);
  });

  it("show who is refused, and the wasted uploads, when one caller floods", async () => {
    const flooded = { ...roomy, loudPerSecond: 40, maxWaiting: 8 };
    const { use, refused, quietRefused, wastedUploads, refusedThoughFree } = await measureScale(1, flooded);
    expect(use).toBeGreaterThan(1);
    expect(refused).toBeGreaterThan(0);
    expect(quietRefused).toBe(0);
    expect(refusedThoughFree).toBeLessThan(refused);
    // Each backend was tried before a request was refused.
    expect(wastedUploads).toBeGreaterThan(refused);
  });

  it("show the probes and the second attempts of a rolling restart, in which no request is lost", async () => {
    const { probes, refused, failed, wastedUploads } = await measureScale(1, {
      ...roomy,
      slots: 4,
      quietPerSecond: 20,
      isRestarted: true,
    });
    expect({ refused, failed }).toEqual({ refused: 0, failed: 0 });
    expect(probes).toBeGreaterThan(0);
    expect(wastedUploads).toBeGreaterThan(0);
  });
});
