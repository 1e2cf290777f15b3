/** The median, by which the benchmarks speak: a noisy machine spoils means. */

export function median(values: readonly number[]): number {
  return values.toSorted((left, right) => left - right)[Math.floor(values.length / 2)] ?? 0;
}
