/** What the benchmarks share: clients that keep a service busy, and the figures that a noisy machine leaves. */

/** At `share` of the values in their order; 0 if there are none. */
export function quantile(values: readonly number[], share: number): number {
  return values.toSorted((left, right) => left - right)[Math.floor(share * values.length)] ?? 0;
}

export function median(values: readonly number[]): number {
  return quantile(values, 0.5);
}

/** Runs clients that ask again as soon as they have their answer, for a time. @returns the number of answers */
export async function keepBusy(clients: number, seconds: number, ask: () => Promise<unknown>): Promise<number> {
  const end = performance.now() + seconds * 1000;
  let answers = 0;
  await Promise.all(
    Array.from({ length: clients }, async () => {
      for (; performance.now() < end; answers++) await ask();
    }),
  );
  return answers;
}
