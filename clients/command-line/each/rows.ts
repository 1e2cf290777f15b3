/**
 * Reads the rows of `--each`: the data of each document as JSON text, from JSON Lines, a JSON array or CSV. JSON stays
 * exactly as written, so that numbers keep their digits; the values of CSV are strings.
 */
import { CsvError, parse } from "csv-parse/sync";
import { countInWords } from "../../typescript/size-in-words.ts";
import { CommandError } from "../exit-codes.ts";
import { utf8Text } from "../project/folder.ts";
import { arrayItems } from "../project/json-text.ts";
import { CSV_NAME, JSON_LINES_NAME } from "../project/request.ts";

export interface Row {
  /**
   * The number for `{#}` and `--line`, from one: the line of JSON Lines, the item of an array, the row of CSV below its
   * header.
   */
  readonly number: number;
  /** Where the row begins in the file, counted from one. */
  readonly line: number;
  /** The column where it begins; null for CSV, whose JSON text is not in the file. */
  readonly column: number | null;
  /** The place for people. */
  readonly place: string;
  /** The place with the name of the file. */
  readonly where: string;
  /** JSON text. */
  readonly data: string;
}

/** One run should not make more documents than this. */
const MAX_ROWS = 100_000;

const KINDS_IN_WORDS = "JSON Lines, a JSON array, or CSV with a header row";
const DELIMITERS = [",", ";", "\t"];

/** A file that begins like this is of a kind that `--each` cannot read. */
const OTHER_KINDS: readonly (readonly [prefix: string, kind: string])[] = [
  ["PK\u0003\u0004", "a spreadsheet or an archive: save the sheet as CSV (UTF-8)"],
  ["\u00d0\u00cf\u0011\u00e0", "a spreadsheet of an old Excel: save the sheet as CSV (UTF-8)"],
  ["%PDF-", "a PDF"],
  ["\u001f\u008b", "compressed: decompress it first"],
];

/**
 * Splits a file into its rows. Its kind is taken from its extension, or else from how it begins.
 *
 * @param name of the file, for messages
 * @throws CommandError when it is of another kind, or cannot be read as the kind that it is
 */
export function readRows(bytes: Buffer, name: string): Row[] {
  const text = textOf(bytes, name);
  const rows = rowsOf(text, name);
  if (rows.length === 0) throw new CommandError(`${name} contains no data.`);
  if (rows.length > MAX_ROWS) throw new CommandError(`${name} has more than ${MAX_ROWS} documents: split it.`);
  return rows;
}

function textOf(bytes: Buffer, name: string): string {
  const start = bytes.subarray(0, 8).toString("latin1");
  for (const [prefix, kind] of OTHER_KINDS) if (start.startsWith(prefix)) throw wrongKind(name, kind);
  const text = utf8Text(bytes, name);
  if (text.includes("\0")) throw wrongKind(name, "not text");
  return text;
}

function rowsOf(text: string, name: string): Row[] {
  if (CSV_NAME.test(name)) return csvRows(text, name);
  if (JSON_LINES_NAME.test(name)) return jsonLines(text, name);
  const start = text.trimStart();
  if (start.startsWith("[") && !isJson(firstLine(start))) return arrayRows(text, name);
  if (start.startsWith("[")) return isOneLine(start) ? arrayRows(text, name) : jsonLines(text, name);
  if (start.startsWith("{") && !isJson(firstLine(start)) && isJson(start)) {
    throw wrongKind(name, "a single JSON object, which makes one document: pass it with --data");
  }
  if (start.startsWith("{") || isJson(firstLine(start))) return jsonLines(text, name);
  if (start !== "" && !/\.json$/i.test(name) && delimiterOf(text) !== null) return csvRows(text, name);
  if (start === "") return [];
  throw wrongKind(name, "not a list of data");
}

function wrongKind(name: string, kind: string): CommandError {
  return new CommandError(`${name} is ${kind}. --each takes ${KINDS_IN_WORDS}.`);
}

/** Blank lines make no rows, but count as lines. Whether a line is JSON is checked when its file name is made. */
function jsonLines(text: string, name: string): Row[] {
  const rows: Row[] = [];
  for (const [index, line] of text.split(/\r?\n/, MAX_LINES).entries()) {
    const number = index + 1;
    if (line.trim() !== "")
      rows.push({ number, line: number, column: 1, place: `line ${number}`, where: `${name}:${number}`, data: line });
  }
  return rows;
}

/** The most lines of a file, including blank lines between the rows. */
const MAX_LINES = 10 * MAX_ROWS;

function arrayRows(text: string, name: string): Row[] {
  const read = arrayItems(text, MAX_ROWS);
  if (!("items" in read)) throw new CommandError(`${name}:${read.line}:${read.column} is not JSON.`);
  return read.items.map(({ text: data, line, column }, index) => {
    const place = `item ${index + 1}`;
    return { number: index + 1, line, column, place, where: `${name}, ${place}`, data };
  });
}

interface CsvRecord {
  readonly record: readonly string[];
  /** How many lines have been read with this record. */
  readonly info: { readonly lines: number };
}

function csvRows(text: string, name: string): Row[] {
  const records = csvRecords(text, name);
  const names = records[0]?.record.map((column) => column.trim()) ?? [];
  const known = new Set<string>();
  for (const [index, column] of names.entries()) {
    if (column === "") throw new CommandError(`${name}:1: column ${index + 1} has no name in the header row.`);
    if (known.has(column)) throw new CommandError(`${name}:1: two columns have the name ${JSON.stringify(column)}.`);
    known.add(column);
  }
  return records.slice(1).map(({ record, info }, index) => {
    const breaks = record.join("").split("\n").length - 1;
    const line = info.lines - breaks;
    const place = `row ${index + 1} (line ${line})`;
    const data = JSON.stringify(Object.fromEntries(record.map((value, column) => [names[column], value])));
    return { number: index + 1, line, column: null, place, where: `${name}, ${place}`, data };
  });
}

function csvRecords(text: string, name: string): CsvRecord[] {
  const options = {
    delimiter: delimiterOf(text) ?? ",",
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
    throw new CommandError(csvMistake(error, name, () => parse(text, { ...options, to: 1 })[0]?.length ?? 0));
  }
}

/** Common mistakes in this program's own words, and others in those of the parser. */
function csvMistake({ code, message, lines, record, records }: CsvError, name: string, headerLength: () => number) {
  switch (code) {
    case "CSV_RECORD_INCONSISTENT_FIELDS_LENGTH": {
      const count = countInWords(Array.isArray(record) ? record.length : 0, "value");
      return `${name}:${lines}: the row has ${count}, the header has ${headerLength()}. A value that contains the delimiter must be in quotes.`;
    }
    case "CSV_QUOTE_NOT_CLOSED":
      // The parser counts the rows before it, the header row among them; its line is the last one of the file.
      return `${name}, row ${records}: a value begins with a quote (") and does not end with one.`;
    case "INVALID_OPENING_QUOTE":
    case "CSV_INVALID_CLOSING_QUOTE":
      return `${name}:${lines}: a value that contains a quote (") must be in quotes, with each quote in it written twice.`;
    default:
      return `${name} cannot be read as CSV: ${message}.`;
  }
}

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

function isOneLine(text: string): boolean {
  return !text.trimEnd().includes("\n");
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
