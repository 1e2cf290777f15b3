/**
 * The documents of `--each`: a row of data for each, and a file name from it. A name is made from data that may come
 * from anywhere, so a value fills exactly one part of a path, no two rows write one file, and no link leads elsewhere.
 */
import { realpath } from "node:fs/promises";
import { basename, dirname, join, resolve, sep } from "node:path";
import { CommandError } from "../exit-codes.ts";
import { projectFolder, readInput, STANDARD_INPUT } from "../project/folder.ts";
import type { InputValues } from "../project/inputs.ts";
import { collectProject, type Project } from "../project/project.ts";
import type { DataText } from "../project/request.ts";
import { handOver } from "../project/template-findings.ts";
import { printableLine } from "../terminal.ts";
import { parseValue, type Row, readingInWords, readRows } from "./rows.ts";

export interface EachDocument extends Row {
  readonly path: string;
}

export interface EachProject {
  readonly project: Project;
  readonly documents: readonly EachDocument[];
  /** How the rows were read, if that needs to be said. */
  readonly reading: string | null;
}

interface EachSource {
  readonly source: string;
  readonly each: string;
  /** The pattern of the file names. */
  readonly template: string;
  /** The only row to read; undefined for all. */
  readonly line?: number | undefined;
  readonly data?: string | undefined;
  readonly files?: readonly string[] | undefined;
  readonly root?: string | undefined;
  readonly input?: InputValues | undefined;
  readonly dataAsInput?: string | undefined;
}

/** @throws CommandError that names every row which has no safe file name of its own */
export async function readEachProject(
  { source, each, template, ...options }: EachSource,
  doing: "sent" | "compiled",
): Promise<EachProject> {
  if (options.data !== undefined) throw new CommandError("--each provides the data: omit --data.");
  const { bytes, shown } = await readInput(each, each, await projectFolder(source));
  const read = readRows(bytes, shown);
  const documents = nameDocuments(chooseRows(read.rows, options.line), shown, template);
  const leaveOut = [...(each === STANDARD_INPUT ? [] : [each]), ...documents.map(({ path }) => path)];
  const { root, files: patterns = [] } = options;
  const command = doing === "sent" ? "render" : "check";
  const projectOptions = { command, root, inputs: options.input, patterns, leaveOut, data: [each] } as const;
  const collected = await collectProject(source, projectOptions);
  const project = handOver(
    collected,
    { inputs: options.input, dataInput: options.dataAsInput, data: "--each", isStrict: true },
    doing,
  );
  return { project, documents, reading: readingInWords(shown, read) };
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

const MAX_REPORTED_ROWS = 20;
/** `{name}`, `{address.city}`; `{#}` is the number of the row, `{#:03}` with zeros. */
const PLACEHOLDER = /\{([^{}]*)\}/g;
const NUMBER = /^#(?::0([1-9]))?$/;

function nameDocuments(rows: readonly Row[], file: string, template: string): EachDocument[] {
  for (const [shown, name = ""] of template.matchAll(PLACEHOLDER)) {
    if (name.trim() !== "" && (!name.startsWith("#") || NUMBER.test(name))) continue;
    throw new CommandError(`--output: ${printableLine(shown)} must be a {name}, {#}, or with zeros in front {#:03}.`);
  }
  const mistakes: string[] = [];
  const placesOfPaths = new Map<string, string>();
  const documents = rows.map((row) => {
    const value = parseValue(row.data);
    const wrong = value === undefined ? ["it is not JSON"] : [];
    const path = template.replace(PLACEHOLDER, (_, name: string) => {
      const text = textOf(value, row, name);
      const mistake = text === null ? `there is no text or number for {${name}}` : explainUnsafeName(text, name);
      if (mistake !== null) wrong.push(mistake);
      return text ?? "";
    });
    // Some file systems ignore case and the form of accents.
    const identity = resolve(path).normalize("NFC").toLowerCase();
    const earlier = placesOfPaths.get(identity);
    if (earlier !== undefined) wrong.push(`${path} is already the file of ${earlier}`);
    if (wrong[0] === undefined) placesOfPaths.set(identity, row.place);
    else mistakes.push(printableLine(`${file}, ${row.place}: ${wrong[0]}`));
    return { ...row, path };
  });
  if (mistakes.length === 0) return documents;
  const more = mistakes.length - MAX_REPORTED_ROWS;
  const shown = [...mistakes.slice(0, MAX_REPORTED_ROWS), ...(more > 0 ? [`… and ${more} more.`] : [])];
  throw new CommandError(["Nothing was done:", ...shown].join("\n"));
}

function textOf(value: unknown, row: Row, name: string): string | null {
  const number = NUMBER.exec(name);
  if (number !== null) return String(row.number).padStart(Number(number[1] ?? 0), "0");
  let found = value;
  for (const member of name.split(".")) {
    if (typeof found !== "object" || found === null || !Object.hasOwn(found, member)) return null;
    found = Object.getOwnPropertyDescriptor(found, member)?.value;
  }
  return typeof found === "string" || typeof found === "number" ? String(found) : null;
}

/** File systems allow 255 bytes. The name has further parts, and the temporary name is longer still. */
const MAX_VALUE_BYTES = 150;
/** Separators, characters that Windows forbids in names, and invisible ones. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: these are the characters that no name may have.
const UNSAFE = /[/\\<>:"|?*\u0000-\u001f\u007f-\u009f\p{Bidi_Control}]/u;
const RESERVED_ON_WINDOWS = /^(?:con|prn|aux|nul|com[0-9]|lpt[0-9])(?:\.|$)/i;

/** Why a value cannot be in a file name; null if it can. The value itself is quoted as JSON. */
function explainUnsafeName(value: string, name: string): string | null {
  const shown = `{${name}} is ${JSON.stringify(value.slice(0, 80))}`;
  if (value.trim() === "") return `{${name}} is empty`;
  if (UNSAFE.test(value) || !value.isWellFormed())
    return `${shown}: it has a character that is not allowed in file names`;
  if (/^[.\s]|[.\s]$/.test(value)) return `${shown}: a file name must not begin or end with a dot or a space`;
  if (RESERVED_ON_WINDOWS.test(value)) return `${shown}, which is reserved on Windows`;
  if (Buffer.byteLength(value) > MAX_VALUE_BYTES) return `{${name}} is longer than ${MAX_VALUE_BYTES} bytes`;
  return null;
}

/**
 * The project may come from anybody, and the rows decide names of folders: the caller's own folder ends where the first
 * placeholder begins.
 *
 * @throws CommandError when a link leads the documents out of the project, or out of the folder that the caller named
 */
export async function requireOwnFolders(template: string, { project, documents }: EachProject): Promise<void> {
  const { root } = project;
  const named = resolve(dirname(`${template.split("{", 1)[0]}x`));
  const realNamed = await realPlace(named);
  const isOut = isWithin(root, named) && !isWithin(await realPlace(root), realNamed);
  let leading = isOut ? named : null;
  for (const folder of new Set(documents.map(({ path }) => dirname(resolve(path))))) {
    if (isWithin(named, folder) && !isWithin(realNamed, await realPlace(folder))) leading ??= folder;
  }
  if (leading === null) return;
  const words = `--output: ${leading} is a link, or is below one, to another folder: nothing was sent.`;
  throw new CommandError(printableLine(words));
}

/** The path without links, as far as it exists. */
async function realPlace(path: string): Promise<string> {
  const real = await realpath(path).catch(() => null);
  if (real !== null || dirname(path) === path) return real ?? path;
  return join(await realPlace(dirname(path)), basename(path));
}

function isWithin(folder: string, path: string): boolean {
  return path === folder || path.startsWith(folder.endsWith(sep) ? folder : `${folder}${sep}`);
}
