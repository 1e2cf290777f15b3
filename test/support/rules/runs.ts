/**
 * The number of runs of a property: the number given, or a fraction when the tests are run for each of many mutants.
 */
const DIVISOR = process.env.PROPERTY_RUNS_DIVISOR === undefined ? 1 : Number(process.env.PROPERTY_RUNS_DIVISOR);

export function runs(count: number): number {
  return Math.ceil(count / DIVISOR);
}
