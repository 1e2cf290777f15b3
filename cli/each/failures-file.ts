/**
 * The data of the documents that could not be made, as JSON Lines beside the file of `--each`, which takes it again.
 */
import { readFile } from "node:fs/promises";
import { basename, dirname, extname, join } from "node:path";
import { writeOutput } from "../output-file.ts";
import { STANDARD_INPUT } from "../project/folder.ts";
import { placeOf, WrittenFiles } from "../written-files.ts";
import type { Row } from "./rows.ts";

/** Names with a number, where files of the user's own have the others. */
const MAX_NAMES = 100;

/**
 * Writes the file.
 *
 * @param each the file of `--each`, or `-`
 * @param keepsNumbers whether each failure has to be on the line of its number, below empty lines, because `{#}` is in file names
 * @returns its name; null if every name is taken by files that are not of this command
 */
export async function writeFailures(
  each: string,
  failures: readonly Row[],
  keepsNumbers: boolean,
): Promise<string | null> {
  const lines: string[] = [];
  for (const { number, data } of failures.toSorted((one, other) => one.number - other.number)) {
    while (keepsNumbers && lines.length < number - 1) lines.push("");
    lines.push(onOneLine(data));
  }
  const name = await freeName(each);
  if (name !== null) await writeOutput(name, Buffer.from(`${lines.join("\n")}\n`));
  return name;
}

/** JSON has line breaks only between its tokens. */
function onOneLine(json: string): string {
  return json.trim().replace(/[\r\n]+/g, " ");
}

/** Beside the file, or in the working directory. A file of the user's own is left alone. */
async function freeName(each: string): Promise<string | null> {
  const folder = each === STANDARD_INPUT ? "." : dirname(each);
  const name =
    each === STANDARD_INPUT ? "standard-input" : basename(each, extname(each)).replace(/\.failed(?:-[0-9]+)?$/, "");
  const written = await WrittenFiles.load();
  for (let number = 1; number <= MAX_NAMES; number++) {
    const path = join(folder, `${name}.failed${number === 1 ? "" : `-${number}`}.jsonl`);
    // The file that is being read must keep the rows that have not been tried.
    if (path === join(each)) continue;
    const bytes = await readFile(path).catch(() => null);
    if (bytes === null || written.whatIs(await placeOf(path), bytes) === "own") return path;
  }
  return null;
}
