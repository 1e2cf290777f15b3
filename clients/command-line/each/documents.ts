/**
 * The documents of `--each`: a row of data for each, and a file name from it. The data may come from anywhere, so no two
 * rows write one file, and no link leads elsewhere.
 */
import { basename, dirname, join, resolve } from "node:path";
import { CommandError } from "../exit-codes.ts";
import { linkStatOf, realPath } from "../files/disk.ts";
import { isBelow, projectFolder, readInput, STANDARD_INPUT } from "../files/folder.ts";
import { requireFilePlace } from "../output-file.ts";
import { describeCutPictures } from "../project/data-pictures.ts";
import { jsonMistake } from "../project/json-text.ts";
import type { Project, ProjectFlags } from "../project/project.ts";
import type { DataText } from "../project/request.ts";
import { describeTabs } from "../project/tabs.ts";
import { describeDataMistakes, openProject } from "../project/template-findings.ts";
import { printableLine } from "../terminal.ts";
import { fileNameOf, membersInWords, type NameMistake, requirePlaceholders } from "./file-names.ts";
import { type Row, readingInWords, readRows } from "./rows.ts";

export interface EachDocument extends Row {
  readonly path: string;
}

export interface EachProject {
  readonly project: Project;
  readonly documents: readonly EachDocument[];
  /** How the rows were read, if that needs to be said. */
  readonly reading: string | null;
}

interface EachSource extends ProjectFlags {
  readonly source: string;
  readonly each: string;
  /** The pattern of the file names. */
  readonly template: string;
  /** The only row to read; undefined for all. */
  readonly line?: number | undefined;
  readonly delimiter?: string | undefined;
  readonly data?: string | undefined;
}

/** @throws CommandError that names every row which has no safe file name of its own */
export async function readEachProject(
  { source, each, template, delimiter, ...options }: EachSource,
  command: "render" | "check",
): Promise<EachProject> {
  if (options.data !== undefined) throw new CommandError("--each provides the data: omit --data.");
  const { bytes, shown } = await readInput(each, each, projectFolder(source));
  const read = readRows(bytes, shown, delimiter);
  const documents = nameDocuments(chooseRows(read.rows, options.line), shown, template);
  const leaveOut = [...(each === STANDARD_INPUT ? [] : [each]), ...documents.map(({ path }) => path)];
  const opening = { command, leaveOut, data: [each], givenBy: "--each", isStrict: true } as const;
  const project = openProject(source, options, opening);
  const [first] = documents;
  const ofData = first === undefined ? [] : describeDataMistakes(project, first.data, read.table?.numeric);
  const ofPictures = documents.flatMap(({ data, place }) =>
    describeCutPictures(data).map((note) => `${place}: ${note}`),
  );
  const notes = [...project.notes, ...notesOfTabs(documents, project), ...ofPictures.slice(0, MAX_CUT), ...ofData];
  return { project: { ...project, notes }, documents, reading: readingInWords(shown, read) };
}

/** Of more rows with a picture that is cut off, the first are named. */
const MAX_CUT = 20;

/** Of the first row that has one: the others have it in the same column. */
function notesOfTabs(documents: readonly EachDocument[], project: Project): string[] {
  for (const { data, place } of documents) {
    const [note] = describeTabs(data, project);
    if (note !== undefined) return [`${place}: ${note}`];
  }
  return [];
}

export function dataOf({ data, place }: EachDocument): DataText {
  return { text: data, name: place, notes: [] };
}

function chooseRows(rows: readonly Row[], line: number | undefined): readonly Row[] {
  const found = line === undefined ? rows : rows.filter(({ number }) => number === line);
  if (found.length > 0) return found;
  const numbers = rows.map(({ number }) => number);
  throw new CommandError(`--line ${line}: there is no data for it, only from ${numbers[0]} to ${numbers.at(-1)}.`);
}

/** Of how many rows the mistake is said; the others are named by their numbers. */
const MAX_REPORTED_ROWS = 20;

/**
 * One row without a name stops the whole batch: mostly the pattern is wrong, and half of the documents under the names
 * of an earlier pattern are harder to find than none.
 */
function nameDocuments(rows: readonly Row[], file: string, pattern: string): EachDocument[] {
  requirePlaceholders(pattern);
  const mistakes: (NameMistake & { readonly row: Row })[] = [];
  const placesOfPaths = new Map<string, string>();
  const documents = rows.flatMap((row) => {
    const named = jsonMistake(row.data) === null ? fileNameOf(row, pattern) : { mistake: "it is not JSON" };
    if ("mistake" in named) {
      mistakes.push({ row, ...named });
      return [];
    }
    // Some file systems ignore case and the form of accents.
    const identity = resolve(named.path).normalize("NFC").toLowerCase();
    const earlier = placesOfPaths.get(identity);
    if (earlier === undefined) placesOfPaths.set(identity, row.place);
    else mistakes.push({ row, mistake: `${named.path} is already the file of ${earlier}` });
    return [{ ...row, ...named }];
  });
  if (mistakes.length === 0) return documents;
  const shown = mistakes.slice(0, MAX_REPORTED_ROWS);
  const others = mistakes.slice(MAX_REPORTED_ROWS).map(({ row }) => row.number);
  const [lacking] = shown.flatMap(({ row, lacks }) => (lacks === undefined ? [] : [membersInWords(row, lacks)]));
  throw new CommandError(
    [
      "Nothing was done:",
      ...shown.map(({ row, mistake }) => printableLine(`${file}, ${row.place}: ${mistake}`)),
      ...(others.length > 0 ? [`… and ${others.length} more: ${rangesInWords(others)}.`] : []),
      ...(lacking === undefined ? [] : [printableLine(lacking)]),
    ].join("\n"),
  );
}

/** `1-3, 7`. */
function rangesInWords(numbers: readonly number[]): string {
  const ranges: [first: number, last: number][] = [];
  for (const number of numbers) {
    const range = ranges.at(-1);
    if (range?.[1] === number - 1) range[1] = number;
    else ranges.push([number, number]);
  }
  return ranges.map(([first, last]) => (first === last ? first : `${first}-${last}`)).join(", ");
}

/**
 * The project may come from anybody, and the rows decide names of folders: the caller's own folder ends where the first
 * placeholder begins.
 *
 * @throws CommandError when a link leads the documents out of the project, or out of the folder that the caller named
 */
export function requireOwnFolders(template: string, { project, documents }: EachProject): void {
  const { root } = project;
  const named = resolve(dirname(`${template.split("{", 1)[0]}x`));
  const realNamed = realPlace(named);
  const isOut = isBelow(root, named) && !isBelow(realPlace(root), realNamed);
  let leading = isOut ? named : null;
  for (const folder of new Set(documents.map(({ path }) => dirname(resolve(path))))) {
    if (isBelow(named, folder) && !isBelow(realNamed, realPlace(folder))) leading ??= folder;
  }
  if (leading === null) return;
  const words = `--output: ${leading} is a link, or is below one, to another folder: nothing was sent.`;
  throw new CommandError(printableLine(words));
}

/**
 * The documents that cannot be written, each with the reason. Links lead out of the project only if the caller has made
 * them, outside of it. @throws CommandError before anything is sent, also if no document can be written
 */
export async function findUnwritable({ project, documents }: EachProject, overwrite: boolean) {
  const root = realPlace(project.root);
  /** Folders that take a new file. */
  const folders = new Set<string>();
  const unwritable = new Map<EachDocument, CommandError>();
  for (const document of documents) {
    const { path } = document;
    const found = linkStatOf(path);
    if (found?.isFile() ? !overwrite && found.size > 0 : found === null && folders.has(dirname(path))) continue;
    const obstacle = await obstacleTo(path);
    if (obstacle !== null) {
      unwritable.set(document, obstacle);
      continue;
    }
    if (found === null) folders.add(dirname(path));
    const place = resolve(path);
    if (!found?.isSymbolicLink() || !isBelow(project.root, place) || isBelow(root, realPlace(place))) continue;
    throw new CommandError(
      printableLine(`--output: ${path} is a link that leads out of the project: nothing was sent.`),
    );
  }
  const [first] = unwritable.values();
  if (first !== undefined && unwritable.size === documents.length) throw first;
  return unwritable;
}

function obstacleTo(path: string): Promise<CommandError | null> {
  return requireFilePlace(path).then(
    () => null,
    (error: unknown) => {
      if (error instanceof CommandError) return error;
      throw error;
    },
  );
}

/** The path without links, as far as it exists. */
function realPlace(path: string): string {
  const real = realPath(path);
  if (real !== null || dirname(path) === path) return real ?? path;
  return join(realPlace(dirname(path)), basename(path));
}
