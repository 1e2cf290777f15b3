/** Tables of Markdown: written for generated pages and for those of the benchmarks, and read to quote their figures. */

/** In a table, GitHub ends a cell at every bar, even inside code. */
export function formatTable(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const lines = [head, head.map(() => "---"), ...rows];
  return lines.map((cells) => `| ${cells.map((cell) => cell.replaceAll("|", "\\|")).join(" | ")} |\n`).join("");
}

/** The cell of a row and column, in the first table of a page that has both; null if there is none. */
export function findCell(page: string, row: string, column: string): string | null {
  let columns: string[] = [];
  for (const line of page.split("\n")) {
    const cells = line.split("|").map((cell) => cell.trim());
    if (cells.length === 1) columns = [];
    else if (columns.length === 0) columns = cells;
    else if (cells[1] === row && columns.includes(column)) return cells[columns.indexOf(column)] ?? null;
  }
  return null;
}
