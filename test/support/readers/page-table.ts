/** Tables of the documentation, for tests that compare them with what the service does. */
import { readFile } from "node:fs/promises";

/** The rows of the first table below a heading of a page, as cells without code marks. */
export async function tableOfPage(page: string, heading: string): Promise<string[][]> {
  const text = await readFile(new URL(`../../../docs/${page}`, import.meta.url), "utf8");
  const [, section = ""] = text.split(`\n${heading}\n`);
  const [, table = ""] = /\n\| ---.*\n((?:\|.*\n)+)/.exec(section) ?? [];
  if (table === "") throw new Error(`${page} has no table below ${heading}`);
  return table
    .trim()
    .split("\n")
    .map((row) => row.slice(1, -1).split("|"))
    .map((cells) => cells.map((cell) => cell.replaceAll("`", "").trim()));
}
