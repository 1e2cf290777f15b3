/**
 * The cases of a template, beside its source: `cases/invoice.json` is data, and `cases/invoice.expected/1.png` is the
 * first page expected from it. `options.json` beside the pages says how they were made, if not with the defaults.
 */
import { mkdir, readdir, readFile, rm } from "node:fs/promises";
import { dirname, join } from "node:path";
import * as v from "valibot";
import { PPI } from "../../../rules/output-options.ts";
import { CommandError } from "../exit-codes.ts";
import { isFile, linkStatOf, namesIn } from "../files/disk.ts";
import { readNamed } from "../files/folder.ts";
import { writeWhole } from "../output-file.ts";
import { type Project, pathBesideSource } from "../project/project.ts";
import { printableLine } from "../terminal.ts";

export const CASES_FOLDER = "cases";
const DATA = /^(.+)\.json$/;
const EXPECTED = /^(.+)\.expected$/;
const PAGE = /^([1-9][0-9]*)\.png$/;
/** Cases are made by hand, so there are far fewer. */
const MAX_CASES = 1000;
/** More pages than any document of a service has. */
const MAX_PAGES = 10_000;

const OPTIONS_FILE = "options.json";
/** At a lower resolution, differences could not be seen. */
export const MIN_PPI = 10;

const PAGE_OPTIONS = v.strictObject({
  ppi: v.optional(v.pipe(v.number(), v.integer(), v.minValue(MIN_PPI), v.maxValue(PPI.max_ppi))),
  pages: v.optional(v.string()),
});

export type PageOptions = v.InferOutput<typeof PAGE_OPTIONS>;

export interface TemplateCase {
  readonly name: string;
  /** Null if there are only expected pages. */
  readonly dataPath: string | null;
  readonly expectedFolder: string;
  readonly root: string;
}

/** Sorted by name. @throws CommandError if there are none */
export async function readCases(project: Project): Promise<TemplateCase[]> {
  const { root } = project;
  const folder = pathBesideSource(project, CASES_FOLDER);
  const entries = await readdir(folder, { withFileTypes: true }).catch(() => []);
  const names = new Map<string, string | null>();
  for (const entry of entries) {
    const expected = entry.isDirectory() ? EXPECTED.exec(entry.name)?.[1] : undefined;
    if (expected !== undefined && !names.has(expected)) names.set(expected, null);
    // The target of a link is checked when it is read.
    const name = entry.isFile() || entry.isSymbolicLink() ? DATA.exec(entry.name)?.[1] : undefined;
    if (name !== undefined) names.set(name, join(folder, entry.name));
  }
  if (names.size === 0) {
    throw new CommandError(`There are no cases: put data into ${join(folder, "first.json")}, then run test --update.`);
  }
  if (names.size > MAX_CASES) throw new CommandError(`${folder} has more than ${MAX_CASES} cases.`);
  return [...names]
    .sort(([left], [right]) => (left < right ? -1 : 1))
    .map(([name, dataPath]) => ({ name, dataPath, expectedFolder: join(folder, `${name}.expected`), root }));
}

/** In their order, with null for missing ones. @throws CommandError when one is not a file of the project */
export function readExpected({ expectedFolder, root }: TemplateCase): (Buffer | null)[] {
  const numbers = new Set(numbersIn(expectedFolder));
  const pages: (Buffer | null)[] = [];
  for (let number = 1; number <= Math.max(0, ...numbers); number++) {
    const path = join(expectedFolder, `${number}.png`);
    pages.push(numbers.has(number) ? readNamed(path, path, root) : null);
  }
  return pages;
}

/** How the expected pages were made; empty for the defaults. @throws CommandError when the file has another form */
export function readPageOptions({ expectedFolder, root }: TemplateCase): PageOptions {
  const path = join(expectedFolder, OPTIONS_FILE);
  if (!isFile(path)) return {};
  const text = readNamed(path, path, root).toString("utf8");
  try {
    return v.parse(PAGE_OPTIONS, JSON.parse(text));
  } catch {
    throw new CommandError(
      `${printableLine(path)} must have "ppi", from ${MIN_PPI} to ${PPI.max_ppi}, "pages", such as "1-2", or both.`,
    );
  }
}

/** Makes pages the expected ones. @throws CommandError when their folder is a link: its target is not the project's */
export async function writeExpected(
  { expectedFolder }: TemplateCase,
  pages: readonly Buffer[],
  options: PageOptions,
): Promise<void> {
  for (const folder of [dirname(expectedFolder), expectedFolder]) {
    if (linkStatOf(folder)?.isSymbolicLink()) {
      throw new CommandError(`${printableLine(folder)} is a link, so nothing was written there.`);
    }
  }
  await mkdir(expectedFolder, { recursive: true });
  const optionsPath = join(expectedFolder, OPTIONS_FILE);
  if (options.ppi === undefined && options.pages === undefined) await rm(optionsPath, { force: true });
  else await writeWhole(optionsPath, Buffer.from(`${JSON.stringify(options)}\n`));
  for (const [index, page] of pages.entries()) {
    const path = join(expectedFolder, `${index + 1}.png`);
    const present = await readFile(path).catch(() => null);
    if (!present?.equals(page)) await writeWhole(path, page);
  }
  for (const number of numbersIn(expectedFolder)) {
    if (number > pages.length) await rm(join(expectedFolder, `${number}.png`));
  }
}

function numbersIn(folder: string): number[] {
  return namesIn(folder)
    .map((name) => Number(PAGE.exec(name)?.[1] ?? 0))
    .filter((number) => number > 0 && number <= MAX_PAGES);
}
