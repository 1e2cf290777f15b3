/** The median, which the benchmarks report because a noisy machine distorts the mean. */

export function median(values: readonly number[]): number {
  return values.toSorted((left, right) => left - right)[Math.floor(values.length / 2)] ?? 0;
}
