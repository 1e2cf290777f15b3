/**
 * The number of runs of a property. `PROPERTY_RUNS=50` makes fifty times as many, for a longer search. Where each of
 * many changes of the code has the tests run, there are fewer.
 */
const FACTOR = process.env.TESTS_OF_MUTATIONS === undefined ? Number(process.env.PROPERTY_RUNS ?? 1) : 1 / 40;

export function runs(count: number): number {
  return Math.ceil(count * FACTOR);
}
