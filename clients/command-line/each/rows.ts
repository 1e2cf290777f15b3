/**
 * Reads the rows of `--each`: the data of each document as JSON text, from JSON Lines, a JSON array or CSV. JSON stays
 * exactly as written, so that numbers keep their digits; the values of CSV are strings.
 */
import { CsvError, parse } from "csv-parse/sync";
import { countInWords, firstInWords } from "../../typescript/size-in-words.ts";
import { CommandError } from "../exit-codes.ts";
import { utf8Text } from "../project/folder.ts";
import { arrayItems } from "../project/json-text.ts";
import { CSV_NAME, JSON_LINES_NAME } from "../project/request.ts";

export interface Row {
  /** From one: the line of JSON Lines, the item of an array, the row of CSV below its header. */
  readonly number: number;
  /** Where the row begins in the file, counted from one. */
  readonly line: number;
  /** The column where it begins; null for CSV, whose JSON text is not in the file. */
  readonly column: number | null;
  readonly place: string;
  /** JSON text. */
  readonly data: string;
}

/** One run should not make more documents than this. */
const MAX_ROWS = 100_000;

const KINDS_IN_WORDS = "JSON Lines, a JSON array, or CSV with a header row";
/** How the files of Excel begin: new ones, which are archives, and old ones. */
const SPREADSHEETS: ReadonlySet<string> = new Set(["504b0304", "d0cf11e0"]);
const DELIMITERS = [",", ";", "\t"];

export interface Rows {
  readonly rows: readonly Row[];
  /** The names that the header row of CSV gives; null for JSON. */
  readonly columns: readonly string[] | null;
}

/** The kind is taken from the extension, or else from how the file begins. @throws CommandError for other kinds */
export function readRows(bytes: Buffer, name: string): Rows {
  if (SPREADSHEETS.has(bytes.toString("hex", 0, 4))) {
    throw makeKindError(name, "a spreadsheet or an archive: save the sheet as CSV (UTF-8)");
  }
  const { rows, columns } = rowsOf(utf8Text(bytes, name), name);
  if (rows.length === 0) throw new CommandError(`${name} contains no data.`);
  if (rows.length > MAX_ROWS) throw new CommandError(`${name} has more than ${MAX_ROWS} documents: split it.`);
  return { rows, columns };
}

const MAX_NAMED_COLUMNS = 10;
const MAX_COLUMN_LENGTH = 40;

/** How a file of CSV was read: without a header row, the first row would be missing among the documents. */
export function readingInWords(name: string, { rows, columns }: Rows): string | null {
  if (columns === null) return null;
  const names = columns.map((column) => {
    return column.length > MAX_COLUMN_LENGTH ? `${column.slice(0, MAX_COLUMN_LENGTH)}…` : column;
  });
  return `${name}: columns ${firstInWords(names, MAX_NAMED_COLUMNS)}; ${countInWords(rows.length, "row")}`;
}

function rowsOf(text: string, name: string): Rows {
  if (CSV_NAME.test(name)) return csvRows(text, name);
  if (JSON_LINES_NAME.test(name)) return ofJson(jsonLines(text));
  const start = text.trim();
  if (start === "") return ofJson([]);
  const first = firstLine(start);
  if (start.startsWith("[") && (first === start || !isJson(first))) return ofJson(arrayRows(text, name));
  if (isJson(first)) return ofJson(jsonLines(text));
  if (start.startsWith("{")) {
    if (!isJson(start)) return ofJson(jsonLines(text));
    throw makeKindError(name, "a single JSON object, which makes one document: pass it with --data");
  }
  if (!/\.json$/i.test(name) && delimiterOf(text) !== null) return csvRows(text, name);
  throw makeKindError(name, "not a list of data");
}

function ofJson(rows: readonly Row[]): Rows {
  return { rows, columns: null };
}

function makeKindError(name: string, kind: string): CommandError {
  return new CommandError(`${name} is ${kind}. --each takes ${KINDS_IN_WORDS}.`);
}

/** Blank lines make no rows, but count as lines. Whether a line is JSON is checked when its file name is made. */
function jsonLines(text: string): Row[] {
  return text.split(/\r?\n/, MAX_LINES).flatMap((data, index) => {
    const line = index + 1;
    return data.trim() === "" ? [] : [{ number: line, line, column: 1, place: `line ${line}`, data }];
  });
}

/** The most lines of a file, including blank lines between the rows. */
const MAX_LINES = 10 * MAX_ROWS;

function arrayRows(text: string, name: string): Row[] {
  const read = arrayItems(text, MAX_ROWS);
  if (!("items" in read)) throw new CommandError(`${name}:${read.line}:${read.column} is not JSON.`);
  return read.items.map(({ text: data, line, column }, index) => {
    return { number: index + 1, line, column, place: `item ${index + 1}`, data };
  });
}

interface CsvRecord {
  readonly record: readonly string[];
  /** How many lines have been read with this record. */
  readonly info: { readonly lines: number };
}

function csvRows(text: string, name: string): Rows {
  const records = csvRecords(text, name);
  const names = records[0]?.record.map((column) => column.trim()) ?? [];
  const known = new Set<string>();
  for (const [index, column] of names.entries()) {
    if (column === "") throw new CommandError(`${name}:1: column ${index + 1} has no name in the header row.`);
    if (known.has(column)) throw new CommandError(`${name}:1: two columns have the name ${JSON.stringify(column)}.`);
    known.add(column);
  }
  const rows = records.slice(1).map(({ record, info }, index) => {
    const breaks = record.join("").split("\n").length - 1;
    const line = info.lines - breaks;
    const place = `row ${index + 1} (line ${line})`;
    const data = JSON.stringify(Object.fromEntries(record.map((value, column) => [names[column], value])));
    return { number: index + 1, line, column: null, place, data };
  });
  return { rows, columns: names };
}

function csvRecords(text: string, name: string): CsvRecord[] {
  const named = SEPARATOR_LINE.exec(text);
  const options = {
    delimiter: named?.groups?.delimiter ?? delimiterOf(text) ?? ",",
    from_line: named === null ? 1 : 2,
    skip_empty_lines: true,
    // Spreadsheets write rows that contain only delimiters.
    skip_records_with_empty_values: true,
    record_delimiter: ["\r\n", "\n", "\r"],
  };
  try {
    const records: unknown[] = parse(text, { ...options, info: true, to: MAX_ROWS + 2 });
    return records.filter(isCsvRecord);
  } catch (error) {
    if (!(error instanceof CsvError)) throw error;
    const { code, message, lines, record } = error;
    if (code !== "CSV_RECORD_INCONSISTENT_FIELDS_LENGTH") {
      throw new CommandError(`${name}:${lines} cannot be read as CSV: ${message}.`);
    }
    const count = countInWords(Array.isArray(record) ? record.length : 0, "value");
    const wanted = parse(text, { ...options, to: 1 })[0]?.length ?? 0;
    const words = `${name}:${lines}: the row has ${count}, the header has ${wanted}.`;
    throw new CommandError(`${words} A value that contains the delimiter must be in quotes.`);
  }
}

/** `sep=;`, by which Excel and those who write for it name the delimiter of the lines below. */
const SEPARATOR_LINE = /^"?sep=(?<delimiter>[^\r\n"])"?(?:\r?\n|\r)/i;

function isCsvRecord(value: unknown): value is CsvRecord {
  return typeof value === "object" && value !== null && "record" in value && Array.isArray(value.record);
}

/** The delimiter of the header row, outside quotes; null if there is none, as in a file with one column. */
function delimiterOf(text: string): string | null {
  // Of what is split at the quotes, every other part is in quotes; a doubled one adds an empty part between.
  const header = firstLine(text.trimStart())
    .split('"')
    .filter((_, index) => index % 2 === 0)
    .join("");
  const counts = DELIMITERS.map((delimiter) => header.split(delimiter).length);
  const most = Math.max(...counts);
  return most === 1 ? null : (DELIMITERS[counts.indexOf(most)] ?? null);
}

function firstLine(text: string): string {
  return text.split(/\r?\n/, 1)[0] ?? "";
}

/** Undefined if it is not JSON. */
function parseValue(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

const isJson = (text: string) => parseValue(text) !== undefined;
