/** What the benchmarks share: a large document, clients that keep a service busy, and the figures that a noisy machine leaves. */

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

/** An outline, and on each of its pages a chapter: text of 300 words, an equation and a table. */
export function reportSource(chapters: number): string {
  return `#set page(paper: "a4", numbering: "1")
#set heading(numbering: "1.")
#set par(justify: true)
#outline()
#for chapter in range(1, ${chapters + 1}) [
  #pagebreak()
  = Chapter #chapter
  #lorem(300)
  $ sum_(k=1)^#chapter k = (#chapter dot (#chapter + 1)) / 2 $
  #table(columns: 4, ..range(32).map(cell => str(cell * chapter)))
]`;
}
