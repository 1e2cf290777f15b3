/**
 * Finds the figures that got worse between two results of a benchmark by more than the noise.
 */
import { isDeepStrictEqual } from "node:util";
import type { Result, Table } from "./report.ts";

/** Runs of the same code on a shared machine differ by this much. */
export const NOISE = 0.2;

export interface Worsening {
  /** Row and column. */
  readonly figure: string;
  readonly before: number;
  readonly now: number;
}

/** Figures that got worse by more than the noise, or null if the two were measured on different kinds of machines. */
export function worsenings(before: Result, now: Result): Worsening[] | null {
  if (!isDeepStrictEqual(before.machine, now.machine)) return null;
  return now.tables.flatMap((table, index) => {
    const earlier = before.tables[index];
    return earlier === undefined ? [] : worseIn(earlier, table);
  });
}

/** Matches rows and columns by their names: a table may gain or lose some. */
function worseIn(before: Table, now: Table): Worsening[] {
  return now.rows.flatMap(({ name, better: betterInRow, cells }) => {
    const earlierCells = before.rows.find((row) => row.name === name)?.cells;
    return now.columns.flatMap(({ title, better }, index) => {
      const earlier = earlierCells?.[before.columns.findIndex((column) => column.title === title)];
      const cell = cells[index];
      if (better === undefined || typeof earlier !== "number" || typeof cell !== "number") return [];
      const isWorse = (betterInRow ?? better) === "lower" ? cell > earlier * (1 + NOISE) : cell < earlier / (1 + NOISE);
      return isWorse ? [{ figure: `${name}, ${title}`, before: earlier, now: cell }] : [];
    });
  });
}
