/**
 * The documents of a `render --each`: a row of data for each, and a file name from it.
 *
 * All rows are validated before the first is sent. A name is made from data that may come from anywhere, so a value
 * fills exactly one part of a path: it can lead to no other folder, and no two rows write one file.
 */
import { resolve } from "node:path";
import { similarName } from "../../data-schema/similar-name.ts";
import { CommandError } from "../exit-codes.ts";
import { readInput } from "../project/folder.ts";
import type { DataText } from "../project/request.ts";
import { printableLine } from "../terminal.ts";
import { type Row, readRows } from "./rows.ts";

export interface EachDocument extends Row {
  /** Where its document goes. */
  readonly path: string;
}

const MAX_REPORTED_ROWS = 20;
/** File systems allow 255 bytes. The name has further parts, and the temporary name is longer still. */
const MAX_VALUE_BYTES = 150;
const PLACEHOLDER = /\{([^{}]*)\}/g;
/** The number of the row: `#`, or with zeros in front `#:03`. */
const NUMBER = /^#(?::0([1-9]))?$/;
/** Members at a greater depth are not suggested, and at most `MAX_SUGGESTED_MEMBERS` are. */
const MAX_SUGGESTED_DEPTH = 4;
const MAX_SUGGESTED_MEMBERS = 500;
/** Separators, characters that Windows forbids in names, and invisible ones. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: these are the characters that no name may have.
const UNSAFE = /[/\\<>:"|?*\u0000-\u001f\u007f-\u009f\p{Bidi_Control}]/u;
const RESERVED_ON_WINDOWS = /^(?:con|prn|aux|nul|com[0-9]|lpt[0-9])(?:\.|$)/i;

/**
 * Reads the rows of a file, or of standard input for `-`.
 *
 * @param folder of the project
 * @param template such as `letters/{name}.pdf`; `{address.city}` goes deeper, `{#}` is the number of the row,
 *   `{#:03}` with zeros.
 * @param line the number of the only row to read; undefined for all
 * @throws CommandError that names every row which has no safe file name of its own.
 */
export async function readDocuments(
  file: string,
  folder: string,
  template: string,
  line: number | undefined,
): Promise<EachDocument[]> {
  const { bytes, shown } = await readInput(file, file, folder);
  const all = readRows(bytes, shown);
  const rows = line === undefined ? all : [rowOfLine(all, line)];
  const names = placeholders(template);
  const documents: EachDocument[] = [];
  const mistakes: string[] = [];
  const missing = new Map<string, number>();
  const earlierRows = new Map<string, Row>();
  for (const row of rows) {
    const value = parseRow(row.data);
    const mistake =
      value === undefined
        ? `the ${row.place.replace(/ .*/, "")} is not JSON`
        : rowMistake(value, names, mistakes.length < MAX_REPORTED_ROWS);
    if (mistake !== null) {
      mistakes.push(`${row.where}: ${mistake}`);
      for (const name of names) {
        if (value !== undefined && textOf(value, row, name) === null) missing.set(name, (missing.get(name) ?? 0) + 1);
      }
      continue;
    }
    const path = template.replace(PLACEHOLDER, (_, name: string) => textOf(value, row, name) ?? "");
    // Some file systems ignore case and the form of accents.
    const identity = resolve(path).normalize("NFC").toLowerCase();
    const earlier = earlierRows.get(identity);
    if (earlier !== undefined) mistakes.push(`${row.where}: ${path} is already the file of ${earlier.place}`);
    else earlierRows.set(identity, row);
    documents.push({ ...row, path });
  }
  const first = rows[0];
  const neverThere = [...missing].find(([, count]) => count === rows.length)?.[0];
  if (first !== undefined && neverThere !== undefined) throw noSuchMember(shown, neverThere, parseRow(first.data));
  if (rows.length > 1 && names.length === 0) throw nameForAll(template, parseRow(first?.data ?? ""));
  if (mistakes.length > 0) throw new CommandError(listMistakes(mistakes));
  return documents;
}

export function dataOf({ data, place }: EachDocument): DataText {
  return { text: data, name: place, notes: [] };
}

/** The row of `--line`. @throws CommandError when there is none */
function rowOfLine(rows: readonly Row[], line: number): Row {
  const found = rows.find(({ number }) => number === line);
  if (found !== undefined) return found;
  const numbers = rows.map(({ number }) => number);
  throw new CommandError(`--line ${line}: there is no data for it, only from ${numbers[0]} to ${numbers.at(-1)}.`);
}

function placeholders(template: string): string[] {
  const names = [...template.matchAll(PLACEHOLDER)].map(([, name = ""]) => name);
  for (const name of names) {
    if (name.trim() === "") throw new CommandError(`--output: {${name}} names nothing: write {name} or {#}.`);
    if (name.startsWith("#") && !NUMBER.test(name)) {
      throw new CommandError(`--output: {${printableLine(name)}} must be {#}, or with zeros in front {#:03}.`);
    }
  }
  return names;
}

function parseRow(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** @param isShown whether somebody reads it, so that what was meant is worth looking for */
function rowMistake(value: unknown, names: readonly string[], isShown: boolean): string | null {
  for (const name of names) {
    if (NUMBER.test(name)) continue;
    const text = memberOf(value, name.split("."));
    if (text === null) {
      const closest = isShown ? similarName(name, memberNames(value)) : null;
      return `there is no text or number for {${name}}${closest === null ? "" : `; did you mean {${closest}}?`}`;
    }
    const mistake = unsafeName(text, name);
    if (mistake !== null) return mistake;
  }
  return null;
}

function textOf(value: unknown, row: Row, name: string): string | null {
  const number = NUMBER.exec(name);
  if (number === null) return memberOf(value, name.split("."));
  return String(row.number).padStart(Number(number[1] ?? 0), "0");
}

function memberOf(value: unknown, path: readonly string[]): string | null {
  let found = value;
  for (const name of path) {
    if (typeof found !== "object" || found === null || !Object.hasOwn(found, name)) return null;
    found = Object.getOwnPropertyDescriptor(found, name)?.value;
  }
  return typeof found === "string" || typeof found === "number" ? String(found) : null;
}

function memberNames(value: unknown, prefix = "", depth = 1): string[] {
  if (typeof value !== "object" || value === null || depth > MAX_SUGGESTED_DEPTH) return [];
  return Object.entries(value)
    .slice(0, MAX_SUGGESTED_MEMBERS)
    .flatMap(([name, member]: [string, unknown]) =>
      typeof member === "object" ? memberNames(member, `${prefix}${name}.`, depth + 1) : [`${prefix}${name}`],
    )
    .slice(0, MAX_SUGGESTED_MEMBERS);
}

function noSuchMember(file: string, name: string, value: unknown): CommandError {
  const members = memberNames(value);
  const closest = similarName(name, members);
  const sentence = `--output: no document of ${file} has a text or number for {${name}}.`;
  return new CommandError(
    printableLine(
      closest === null ? `${sentence}${suggestMembers(members)}` : `${sentence} Did you mean {${closest}}?`,
    ),
  );
}

function nameForAll(template: string, value: unknown): CommandError {
  const sentence = `--output: every document would be ${template}. Put {#} or a member of the data into it.`;
  return new CommandError(printableLine(`${sentence}${suggestMembers(memberNames(value))}`));
}

function suggestMembers(members: readonly string[]): string {
  return members.length === 0
    ? ""
    : ` There is ${members
        .slice(0, 8)
        .map((name) => `{${name}}`)
        .join(", ")}.`;
}

/** Why a value cannot be in a file name; null if it can. The value itself is quoted as JSON. */
function unsafeName(value: string, name: string): string | null {
  const shown = JSON.stringify(value.slice(0, 80));
  if (value.trim() === "") return `{${name}} is empty`;
  if (UNSAFE.test(value)) return `{${name}} is ${shown}, which contains a character that is not allowed in file names`;
  if (/^[.\s]|[.\s]$/.test(value))
    return `{${name}} is ${shown}: a file name must not begin or end with a dot or a space`;
  if (RESERVED_ON_WINDOWS.test(value)) return `{${name}} is ${shown}, which is reserved on Windows`;
  if (!value.isWellFormed()) return `{${name}} is ${shown}, which is not Unicode`;
  if (Buffer.byteLength(value) > MAX_VALUE_BYTES) return `{${name}} is longer than ${MAX_VALUE_BYTES} bytes`;
  return null;
}

function listMistakes(mistakes: readonly string[]): string {
  const more = mistakes.length - MAX_REPORTED_ROWS;
  return [
    "Nothing was sent:",
    ...mistakes.slice(0, MAX_REPORTED_ROWS).map(printableLine),
    ...(more > 0 ? [`… and ${more} more.`] : []),
  ].join("\n");
}
