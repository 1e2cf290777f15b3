/** The report of every benchmark: a Markdown page with tables, whose `git diff` shows what has changed. */
import { readFile, writeFile } from "node:fs/promises";
import { cpus, totalmem } from "node:os";

export function formatFigures(digits: number, ...figures: readonly number[]): string[] {
  return figures.map((figure) => figure.toFixed(digits));
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
