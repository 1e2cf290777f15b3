/**
 * How often a property is tried: as often as it says, or a fraction where the tests are run for each of many mutants.
 */
const DIVISOR = process.env.PROPERTY_RUNS_DIVISOR === undefined ? 1 : Number(process.env.PROPERTY_RUNS_DIVISOR);

export function runs(count: number): number {
  return Math.ceil(count / DIVISOR);
}
