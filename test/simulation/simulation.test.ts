/** Thousands of schedules of requests and faults, simulated: CONTRIBUTING.md#simulation. */
import { describe, expect, it } from "vitest";
import { REAL_CORES } from "./cores.ts";
import { MUTANTS } from "./mutants.ts";
import { makeSchedule } from "./schedule.ts";
import { shrink } from "./shrink.ts";
import { runSchedule } from "./world.ts";

/** Together some seconds on a free core. Many more: `npm run simulate`. */
const FIXED_SCHEDULES = 1000;
const RANDOM_SCHEDULES = 200;
/** Most mistakes are found by one of the first hundred schedules, the rarest by the 600th. */
const MAX_SCHEDULES_PER_MUTANT = 2000;

const HIGHEST_RANDOM_SEED = 2 ** 40;

/** The first broken invariant, with the command that shows how it came to that; null if all hold. */
async function simulate(firstSeed: number, count: number): Promise<string | null> {
  for (let seed = firstSeed; seed < firstSeed + count; seed++) {
    const { violation } = await runSchedule(makeSchedule(seed), REAL_CORES);
    if (violation === null) continue;
    return `${violation.invariant}: ${violation.detail}\nnpm run simulate -- --seed ${seed} --shrink --trace`;
  }
  return null;
}

it(`no invariant is broken by ${FIXED_SCHEDULES} schedules`, async () => {
  expect(await simulate(1, FIXED_SCHEDULES)).toBeNull();
});

it("no invariant is broken by schedules from random seeds", async () => {
  const seed = Math.floor(Math.random() * HIGHEST_RANDOM_SEED);
  console.log(`simulated from seed ${seed}`);
  expect(await simulate(seed, RANDOM_SCHEDULES)).toBeNull();
});

it("a seed gives the same schedule and the same events each time", async () => {
  const tracesOf = async (seed: number) => {
    const lines: string[] = [];
    const { events } = await runSchedule(makeSchedule(seed), REAL_CORES, (line) => lines.push(line));
    return { events, lines };
  };
  for (const seed of [1, 2, 3]) expect(await tracesOf(seed)).toEqual(await tracesOf(seed));
  expect(makeSchedule(1)).not.toEqual(makeSchedule(2));
});

describe("the simulation finds", () => {
  it.each(MUTANTS)("$mistake", async ({ cores, invariants }) => {
    let found: string | undefined;
    for (let seed = 1; seed <= MAX_SCHEDULES_PER_MUTANT && found === undefined; seed++) {
      found = (await runSchedule(makeSchedule(seed), cores)).violation?.invariant;
    }
    expect(invariants).toContain(found);
  });
});

it("a schedule that breaks an invariant is made smaller", async () => {
  const [{ cores }] = MUTANTS.filter(({ mistake }) => mistake.includes("lost origins")) as [(typeof MUTANTS)[number]];
  const schedule = makeSchedule(90);
  const { violation } = await runSchedule(schedule, cores);
  const smaller = await shrink(schedule, cores, violation?.invariant ?? "");
  expect((await runSchedule(smaller, cores)).violation?.invariant).toBe(violation?.invariant);
  expect(smaller.requests.length).toBeLessThan(schedule.requests.length);
});
