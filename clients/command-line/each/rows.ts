/**
 * Reads the rows of `--each`: the data of each document as JSON text, from JSON Lines, a JSON array or CSV. JSON stays
 * exactly as written, so that numbers keep their digits; the values of CSV are strings.
 */
import { countInWords, firstInWords } from "../../document/size-in-words.ts";
import { CommandError } from "../exit-codes.ts";
import { utf8Text } from "../files/folder.ts";
import { type CsvTable, delimiterInWords, looksLikeCsv, quoteColumn, readCsv } from "../project/csv.ts";
import { arrayItems, jsonMistake } from "../project/json-text.ts";
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

export interface Rows {
  readonly rows: readonly Row[];
  /** Null for JSON. */
  readonly table: CsvTable | null;
}

/**
 * The kind is taken from the extension, or else from how the file begins.
 *
 * @param delimiter that of CSV; undefined to find it. @throws CommandError for other kinds
 */
export function readRows(bytes: Buffer, name: string, delimiter?: string): Rows {
  if (SPREADSHEETS.has(bytes.toString("hex", 0, 4))) {
    throw makeKindError(name, "a spreadsheet or an archive: save the sheet as CSV (UTF-8)");
  }
  const { rows, table } = rowsOf(utf8Text(bytes, name), name, delimiter);
  if (rows.length === 0) throw new CommandError(`${name} contains no data.`);
  if (rows.length > MAX_ROWS) throw new CommandError(`${name} has more than ${MAX_ROWS} documents: split it.`);
  return { rows, table };
}

const MAX_NAMED_COLUMNS = 10;

/** How a file of CSV was read: without a header row, the first row would be missing among the documents. */
export function readingInWords(name: string, { rows, table }: Rows): string | null {
  if (table === null) return null;
  const { columns, delimiter, padded } = table;
  const separated = columns.length > 1 ? `, separated by ${delimiterInWords(delimiter)}` : "";
  const blanks = padded === null ? "" : `; values keep the blanks around them: ${padded}`;
  const names = firstInWords(columns.map(quoteColumn), MAX_NAMED_COLUMNS);
  return `${name}: columns ${names}${separated}; ${countInWords(rows.length, "row")}${blanks}`;
}

function rowsOf(text: string, name: string, delimiter: string | undefined): Rows {
  if (CSV_NAME.test(name) || delimiter !== undefined) return csvRows(text, name, delimiter);
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
  if (!/\.json$/i.test(name) && looksLikeCsv(text)) return csvRows(text, name, delimiter);
  throw makeKindError(name, "not a list of data");
}

function ofJson(rows: readonly Row[]): Rows {
  return { rows, table: null };
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

function csvRows(text: string, name: string, delimiter: string | undefined): Rows {
  const table = readCsv(text, name, { delimiter, maxRows: MAX_ROWS });
  const rows = table.rows.map(({ line, data }, index) => {
    return { number: index + 1, line, column: null, place: `row ${index + 1} (line ${line})`, data };
  });
  return { rows, table };
}

function firstLine(text: string): string {
  return text.split(/\r?\n/, 1)[0] ?? "";
}

const isJson = (text: string) => jsonMistake(text) === null;
