/** The number of runs of a property: fewer where each of many changes of the code has the tests run. */
const DIVISOR = process.env.TESTS_OF_MUTATIONS === undefined ? 1 : 40;

export function runs(count: number): number {
  return Math.ceil(count / DIVISOR);
}
