/**
 * Reads CSV whose separator nobody has named: the one by which every row has as many values as the heading. A guess
 * would make documents with values in the wrong places, so if two separators fit, the caller has to say which.
 */
import { CsvError, parse } from "csv-parse/sync";
import { countInWords } from "../../document/size-in-words.ts";
import { CommandError } from "../exit-codes.ts";

export interface CsvRow {
  /** The line where it begins. */
  readonly line: number;
  /** As JSON text, an object whose members have the order of the columns. */
  readonly data: string;
}

export interface CsvTable {
  readonly columns: readonly string[];
  readonly rows: readonly CsvRow[];
  readonly delimiter: string;
  /** A value with white space around it, which the document gets as well: where, and which. */
  readonly padded: string | null;
  /** The columns that have nothing but numbers, as text. */
  readonly numeric: ReadonlySet<string>;
}

export interface CsvOptions {
  /** That of `--delimiter`. */
  readonly delimiter?: string | undefined;
  readonly maxRows: number;
}

const DELIMITERS = [",", ";", "\t", "|"];
const TABS_NAME = /\.(?:tsv|tab)$/i;
/** `sep=;`, by which Excel and those who write for it name the delimiter of the lines below. */
const SEPARATOR_LINE = /^"?sep=(?<delimiter>[^\r\n"])"?(?:\r\n|\n|\r)/i;

/** Whether the first line has a separator. */
export function looksLikeCsv(text: string): boolean {
  const [first = ""] = text.trimStart().split(/\r?\n/, 1);
  return SEPARATOR_LINE.test(text) || DELIMITERS.some((delimiter) => first.includes(delimiter));
}

/** @param name of the file. @throws CommandError when it is no table, or two separators fit */
export function readCsv(text: string, name: string, { delimiter, maxRows }: CsvOptions): CsvTable {
  const separatorLine = SEPARATOR_LINE.exec(text);
  // Without one, the name is wrong, or there is one column.
  const hasTabs = TABS_NAME.test(name) && (text.includes("\t") || !looksLikeCsv(text));
  const named = delimiter ?? separatorLine?.groups?.delimiter ?? (hasTabs ? "\t" : undefined);
  const fromLine = separatorLine === null ? 1 : 2;
  const candidates = named === undefined ? DELIMITERS.filter((one) => text.includes(one)) : [named];
  const readings = (candidates.length === 0 ? DELIMITERS.slice(0, 1) : candidates).map((one) =>
    readBy(one, text, fromLine, maxRows),
  );
  const reading = chooseReading(readings, name);
  if (reading.mistake !== null) throw new CommandError(`${name}:${reading.mistake}`);
  return { ...tableOf(reading, Buffer.from(text), { name, line: fromLine }), delimiter: reading.delimiter };
}

interface Reading {
  readonly delimiter: string;
  readonly heading: readonly string[];
  /** Without the heading. */
  readonly records: readonly CsvRecord[];
  /** Line and reason why it is no table; null if each row has as many values as the heading. */
  readonly mistake: string | null;
}

function chooseReading(readings: readonly Reading[], name: string): Reading {
  const tables = readings.filter(({ heading }) => heading.length > 1);
  // With one column, a row of more values shows that the heading is no heading.
  const [fitting, other] = (tables.length === 0 ? readings : tables).filter(({ mistake }) => mistake === null);
  if (tables.length > 1 && fitting !== undefined && other !== undefined) {
    const each = [fitting, other].map(
      ({ delimiter, heading }) => `by ${delimiterInWords(delimiter)} they are ${heading.map(quoteColumn).join(", ")}`,
    );
    throw new CommandError(
      `${name} has the same columns in all rows by two separators: ${each.join("; ")}. Name the right one with --delimiter.`,
    );
  }
  const wrong = readings.filter(({ mistake }) => mistake !== null);
  const most = (tables.length === 0 ? wrong : tables).toSorted((a, b) => b.heading.length - a.heading.length);
  const chosen = tables.length === 0 ? (most[0] ?? fitting) : (fitting ?? most[0]);
  if (chosen === undefined) throw new Error("there is always a separator");
  return chosen;
}

interface CsvRecord {
  readonly record: readonly string[];
  /** How many bytes have been read with this record. */
  readonly info: { readonly bytes: number };
}

function readBy(delimiter: string, text: string, fromLine: number, maxRows: number): Reading {
  const options = {
    delimiter,
    from_line: fromLine,
    skip_empty_lines: true,
    // Spreadsheets write rows that contain only delimiters.
    skip_records_with_empty_values: true,
    record_delimiter: ["\r\n", "\n", "\r"],
  };
  try {
    const all: unknown[] = parse(text, { ...options, info: true, to: maxRows + 2 });
    const [heading, ...records] = all.filter(isCsvRecord);
    return { delimiter, heading: heading?.record ?? [], records, mistake: null };
  } catch (error) {
    if (!(error instanceof CsvError)) throw error;
    return { delimiter, records: [], ...explain(error, delimiter, () => headingOf(text, options)) };
  }
}

/** Empty if the heading itself cannot be read. */
function headingOf(text: string, options: object): readonly string[] {
  try {
    const [heading]: unknown[] = parse(text, { ...options, to: 1 });
    return Array.isArray(heading) ? heading.map(String) : [];
  } catch (error) {
    if (error instanceof CsvError) return [];
    throw error;
  }
}

function explain({ code, message, lines, record }: CsvError, delimiter: string, readHeading: () => readonly string[]) {
  const heading = readHeading();
  if (code !== "CSV_RECORD_INCONSISTENT_FIELDS_LENGTH") {
    return {
      heading,
      mistake: `${lines} cannot be read as CSV, separated by ${delimiterInWords(delimiter)}: ${message}.`,
    };
  }
  const count = countInWords(Array.isArray(record) ? record.length : 0, "value");
  const words = `${lines}: the row has ${count}, the header has ${heading.length}, separated by ${delimiterInWords(delimiter)}.`;
  return {
    heading,
    mistake: `${words} A value that contains the separator must be in quotes; --delimiter names another one.`,
  };
}

function isCsvRecord(value: unknown): value is CsvRecord {
  return typeof value === "object" && value !== null && "record" in value && Array.isArray(value.record);
}

interface HeadingPlace {
  /** Of the file. */
  readonly name: string;
  readonly line: number;
}

function tableOf({ heading, records }: Reading, bytes: Buffer, { name, line: headingLine }: HeadingPlace) {
  const columns = heading.map((column) => column.trim());
  const known = new Set<string>();
  for (const [index, column] of columns.entries()) {
    const place = `${name}:${headingLine}`;
    if (column === "") throw new CommandError(`${place}: column ${index + 1} has no name in the header row.`);
    if (known.has(column)) throw new CommandError(`${place}: two columns have the name ${JSON.stringify(column)}.`);
    known.add(column);
  }
  let padded: string | null = null;
  let [at, linesRead] = [0, 0];
  const rows = records.map(({ record, info }) => {
    const text = bytes.toString("latin1", at, info.bytes);
    at = info.bytes;
    linesRead += breaksIn(text);
    const line = linesRead + (/[\r\n]$/.test(text) ? 0 : 1) - breaksIn(record.join(""));
    const blank = padded === null ? record.findIndex((value) => value !== value.trim()) : -1;
    if (blank >= 0) padded = `${quoteColumn(columns[blank] ?? "")} is ${JSON.stringify(record[blank])} in line ${line}`;
    // No object: JavaScript would put names that are whole numbers first.
    const members = record.map((value, index) => `${JSON.stringify(columns[index])}:${JSON.stringify(value)}`);
    return { line, data: `{${members.join(",")}}` };
  });
  const numeric = columns.filter((_, index) => isNumeric(records.map(({ record }) => record[index])));
  return { columns, rows, padded, numeric: new Set(numeric) };
}

/** The library counts a line end of two characters twice in quotes. */
function breaksIn(text: string): number {
  return text.split(/\r\n|\n|\r/).length - 1;
}

/** What begins with 0 is the number of a telephone or a town. */
const NUMBER = /^[+-]?(?:0|[1-9][0-9']*)(?:[.,][0-9]+)?$/;

function isNumeric(values: readonly (string | undefined)[]): boolean {
  const written = values.map((value = "") => value.trim()).filter((value) => value !== "");
  return written.length > 0 && written.every((value) => NUMBER.test(value));
}

const MAX_COLUMN_LENGTH = 40;

export function quoteColumn(column: string): string {
  return JSON.stringify(column.length > MAX_COLUMN_LENGTH ? `${column.slice(0, MAX_COLUMN_LENGTH)}…` : column);
}

export function delimiterInWords(delimiter: string): string {
  return delimiter === "\t" ? "tabs" : JSON.stringify(delimiter);
}
