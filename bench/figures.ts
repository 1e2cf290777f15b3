/** What the benchmarks have in common: clients that keep a service busy, and the figures that a noisy machine leaves. */

/** At `share` of the values in their order; 0 if there are none. */
export function quantile(values: readonly number[], share: number): number {
  return values.toSorted((left, right) => left - right)[Math.floor(share * values.length)] ?? 0;
}

/** Reported because a noisy machine distorts the mean. */
export function median(values: readonly number[]): number {
  return quantile(values, 0.5);
}

export interface Load {
  readonly seconds: number;
  /** How long each answer took. */
  readonly milliseconds: readonly number[];
}

/**
 * Runs this many clients, each of which asks again as soon as it has its answer, until the time is over. The last answers
 * come later, and count.
 */
export async function keepBusy(clients: number, seconds: number, ask: () => Promise<unknown>): Promise<Load> {
  const milliseconds: number[] = [];
  const started = performance.now();
  await Promise.all(
    Array.from({ length: clients }, async () => {
      for (let begun = performance.now(); begun < started + seconds * 1000; begun = performance.now()) {
        await ask();
        milliseconds.push(performance.now() - begun);
      }
    }),
  );
  return { seconds: (performance.now() - started) / 1000, milliseconds };
}
