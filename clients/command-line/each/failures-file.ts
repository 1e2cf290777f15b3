/**
 * Writes the data of the documents that could not be made, as JSON Lines beside the file of `--each`, for another
 * `--each`.
 */
import { lstat, readFile } from "node:fs/promises";
import { basename, dirname, extname, join } from "node:path";
import { writeOutput } from "../output-file.ts";
import { STANDARD_INPUT } from "../project/folder.ts";
import { placeOf, WrittenFiles } from "../written-files.ts";
import type { Row } from "./rows.ts";

/** Names with numbers are tried up to this one, because the user's own files may have the others. */
const MAX_NAMES = 100;

/**
 * Writes the file.
 *
 * @param each the file of `--each`, or `-`
 * @param keepsNumbers whether each failure has to be on the line of its number, below empty lines, because `{#}` is
 *   in file names
 * @returns the file's name; null if every name is taken by a file that this command did not write
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

/** A name beside the file, or in the working directory. The user's own files are not overwritten. */
async function freeName(each: string): Promise<string | null> {
  const folder = each === STANDARD_INPUT ? "." : dirname(each);
  const name =
    each === STANDARD_INPUT ? "standard-input" : basename(each, extname(each)).replace(/\.failed(?:-[0-9]+)?$/, "");
  const written = await WrittenFiles.load();
  for (let number = 1; number <= MAX_NAMES; number++) {
    const path = join(folder, `${name}.failed${number === 1 ? "" : `-${number}`}.jsonl`);
    // The file that is being read must keep the rows that have not been tried.
    if (path === join(each)) continue;
    const found = await lstat(path).catch(() => null);
    if (found === null) return path;
    // The folder may be anybody's: a pipe would never end, and a link may lead anywhere.
    const bytes = found.isFile() ? await readFile(path).catch(() => null) : null;
    if (bytes !== null && written.whatIs(await placeOf(path), bytes) === "own") return path;
  }
  return null;
}
