/**
 * The report of every benchmark: its tables as a Markdown page for people, and as JSON for `npm run bench`, which compares
 * them with the checked-in figures.
 *
 * Without arguments a benchmark writes `bench/<name>.md` and `bench/results/<name>.json`; with `--json FILE` only that
 * file. The page goes to standard output either way.
 */
import { mkdir, writeFile } from "node:fs/promises";
import { parseArgs } from "node:util";
import * as v from "valibot";
import { type MachineKind, machineKind } from "./machine.ts";

const DIRECTION = v.picklist(["lower", "higher"]);

const COLUMN = v.object({
  title: v.string(),
  /** Digits after the point on the page; the JSON has all of them. */
  digits: v.optional(v.number()),
  /** Written after the figure on the page, such as " ms". */
  unit: v.optional(v.string()),
  /** The direction in which the figures improve. Columns without one are not compared. */
  better: v.optional(DIRECTION),
});

const TABLE = v.object({
  /** The heading of the column with the names of the rows. */
  subject: v.string(),
  columns: v.array(COLUMN),
  rows: v.array(
    v.object({
      name: v.string(),
      /** Overrides the direction of the compared columns. */
      better: v.optional(DIRECTION),
      /** One figure or text for each column; null if there is none. */
      cells: v.array(v.nullable(v.union([v.number(), v.string()]))),
    }),
  ),
});

/** The checked-in result of one run of a benchmark. */
export const RESULT = v.object({
  benchmark: v.string(),
  machine: v.object({
    processor: v.string(),
    processorCount: v.number(),
    memoryGibibytes: v.number(),
    platform: v.string(),
    node: v.string(),
  }),
  date: v.string(),
  tables: v.array(TABLE),
});

export type Table = v.InferOutput<typeof TABLE>;
export type Result = Omit<v.InferOutput<typeof RESULT>, "machine"> & { machine: MachineKind };

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

/** Writes a page and its tables to the files that the command line names. `page` ends with a line break. */
export async function publish(benchmark: string, page: string, tables: readonly Table[]): Promise<void> {
  const date = new Date().toISOString().slice(0, 10);
  const result: Result = { benchmark, machine: machineKind(), date, tables: [...tables] };
  const json = `${JSON.stringify(result, roundFigures, 2)}\n`;
  const { file } = benchmarkArguments();
  if (file === undefined) {
    await mkdir(new URL("results/", import.meta.url), { recursive: true });
    await writeFile(resultFile(benchmark), json);
    await writeFile(new URL(`${benchmark}.md`, import.meta.url), page);
  } else {
    await writeFile(file, json);
  }
  process.stdout.write(page);
}

/** The arguments of a benchmark: the file of `--json`, if any, and all others. */
export function benchmarkArguments(): { readonly file: string | undefined; readonly others: readonly string[] } {
  const { values, positionals } = parseArgs({ options: { json: { type: "string" } }, allowPositionals: true });
  return { file: values.json, others: positionals };
}

/** The checked-in figures of a benchmark. */
export function resultFile(benchmark: string): URL {
  return new URL(`results/${benchmark}.json`, import.meta.url);
}

const SIGNIFICANT_DIGITS = 4;

/** More digits would be noise, and every line of the file would change with every run. */
function roundFigures(_key: string, value: unknown): unknown {
  return typeof value === "number" ? Number(value.toPrecision(SIGNIFICANT_DIGITS)) : value;
}
