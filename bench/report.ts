/**
 * The report of every benchmark: a Markdown page with tables. The checked-in page is the only record of a run, and the
 * next run is compared with it.
 */
import { readFile, writeFile } from "node:fs/promises";
import { parseArgs } from "node:util";
import { describeMachineKind } from "./machine.ts";

/** Runs of the same code on a shared machine differ by this much. */
export const NOISE = 0.2;

type Direction = "lower" | "higher";

export interface Table {
  /** The heading of the column that names the rows. */
  subject: string;
  columns: {
    title: string;
    /** Digits after the point. */
    digits?: number;
    /** Written after the figure, such as " ms". */
    unit?: string;
    /** The direction in which the figures improve. Columns without one are not compared. */
    better?: Direction;
  }[];
  rows: {
    name: string;
    /** Overrides the direction of the compared columns. */
    better?: Direction;
    /** One figure or text for each column; null if there is none. */
    cells: (number | string | null)[];
  }[];
}

/** A table as Markdown. */
export function markdown({ subject, columns, rows }: Table): string {
  const line = (cells: readonly string[]) => `| ${cells.join(" | ")} |`.replaceAll("|  |", "| |");
  const heads = [subject, ...columns.map(({ title }) => title)];
  return [
    line(heads),
    line(heads.map(() => "---")),
    ...rows.map(({ name, cells }) => {
      return line([
        name,
        ...cells.map((cell, index) => {
          const { digits = 2, unit = "" } = columns[index] ?? {};
          return typeof cell === "number" ? cell.toFixed(digits) + unit : (cell ?? "");
        }),
      ]);
    }),
  ].join("\n");
}

/** The cell of a row and column, in the first table of a page that has both; null if there is none. */
export function cellOf(page: string, row: string, column: string): string | null {
  let columns: string[] = [];
  for (const line of page.split("\n")) {
    const cells = line.split("|").map((cell) => cell.trim());
    if (cells.length === 1) columns = [];
    else if (columns.length === 0) columns = cells;
    else if (cells[1] === row && columns.includes(column)) return cells[columns.indexOf(column)] ?? null;
  }
  return null;
}

/**
 * The figures that are worse than on an earlier page by more than the noise. Rows that are new or gone are not
 * compared.
 */
export function worsenings(earlierPage: string, tables: readonly Table[]): string[] {
  // A page may have the same row and column in two tables, so each table is found by its head.
  return tables.flatMap((table) => {
    const [head = ""] = markdown(table).split("\n");
    const start = earlierPage.indexOf(`${head}\n`);
    if (start === -1) return [];
    const earlierTable = earlierPage.slice(start).split("\n\n", 1)[0] ?? "";
    return table.rows.flatMap(({ name, better: betterInRow, cells }) =>
      table.columns.flatMap(({ title, digits = 2, better }, index) => {
        const earlier = Number.parseFloat(cellOf(earlierTable, name, title) ?? "");
        const cell = cells[index];
        if (better === undefined || typeof cell !== "number" || Number.isNaN(earlier)) return [];
        const now = Number(cell.toFixed(digits));
        const isWorse = (betterInRow ?? better) === "lower" ? now > earlier * (1 + NOISE) : now < earlier / (1 + NOISE);
        return isWorse ? [`${name}, ${title}: ${earlier} → ${now}`] : [];
      }),
    );
  });
}

/** A section of a page, from its heading to the next one of its level. */
const sectionOf = (heading: string, page: string) => {
  const start = `\n${page}`.indexOf(`\n${heading}\n`);
  const end = page.indexOf("\n## ", start + heading.length);
  return start === -1 ? "" : page.slice(start, end === -1 ? undefined : end + 1);
};

/**
 * Compares what a benchmark has found with the checked-in page and replaces that; with `--compare` it only compares. The
 * benchmark fails if a figure got worse. `text` is a page, or the section of one, and ends with a line break.
 */
export async function publish(page: string, text: string, tables: readonly Table[]): Promise<void> {
  process.stdout.write(text);
  const file = new URL(`${page}.md`, import.meta.url);
  const whole = await readFile(file, "utf8").catch(() => "");
  const [heading = ""] = text.split("\n", 1);
  const earlier = heading.startsWith("## ") ? sectionOf(heading, whole) : whole;
  if (!earlier.includes(describeMachineKind())) {
    process.stderr.write(`${heading}: nothing to compare with: no figures from this kind of machine are checked in\n`);
  } else {
    const worse = worsenings(earlier, tables);
    for (const figure of worse) process.stderr.write(`✗ ${figure}\n`);
    if (worse.length > 0) process.exitCode = 1;
    else process.stderr.write(`${heading}: nothing got worse by more than ${100 * NOISE} %\n`);
  }
  if (readArguments().values.compare) return;
  const isLast = whole.endsWith(earlier);
  await writeFile(
    file,
    earlier === "" ? `${whole}\n${text}`.trimStart() : whole.replace(earlier, () => (isLast ? text : `${text}\n`)),
  );
}

/** The argument of a benchmark: the part to run; undefined for all. */
export function wantedPart(): string | undefined {
  return readArguments().positionals[0];
}

function readArguments() {
  return parseArgs({ options: { compare: { type: "boolean", default: false } }, allowPositionals: true });
}
