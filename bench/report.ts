/** The report of every benchmark: a Markdown page with tables, whose `git diff` shows what has changed. */
import { readFile, writeFile } from "node:fs/promises";
import { cpus, totalmem } from "node:os";

export interface Table {
  subject: string;
  columns: {
    title: string;
    digits?: number;
    /** Written after the figure, such as " ms". */
    unit?: string;
  }[];
  rows: {
    name: string;
    /** One figure or text for each column; null if there is none. */
    cells: (number | string | null)[];
  }[];
}

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

/** States the machine and the date of a run: figures are compared only with those from the same kind of machine. */
export function describeMachine(): string {
  const processors = cpus();
  const memoryGibibytes = Math.round(totalmem() / 1024 ** 3);
  const processor = `${processors.length} × ${processors[0]?.model ?? "unknown processor"}`;
  const day = new Date().toISOString().slice(0, 10);
  return `${processor}, ${memoryGibibytes} GiB, ${process.platform}, Node ${process.versions.node}, ${day}`;
}

/** Replaces the page of a benchmark, or the section of it that begins with the same heading of the second level. */
export async function publish(page: string, text: string): Promise<void> {
  process.stdout.write(text);
  const file = new URL(`${page}.md`, import.meta.url);
  if (!text.startsWith("## ")) return writeFile(file, text);
  const sections = (await readFile(file, "utf8")).split(/^(?=## )/m);
  const [heading] = text.split("\n", 1);
  const changed = sections.map((section) => (section.startsWith(`${heading}\n`) ? `${text}\n` : section));
  await writeFile(file, `${changed.join("").trimEnd()}\n`);
}
