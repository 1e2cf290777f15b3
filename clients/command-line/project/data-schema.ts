/** Validates the data of a project by the `data.schema.json` beside its source, before anything is sent or compiled. */
import { join } from "node:path";
import type { DataSchema } from "../../data-schema/data-schema.ts";
import { findingInWords, LEAVE_OUT_QUOTES, MAX_FINDINGS, type SchemaFinding } from "../../data-schema/finding.ts";
import { SCHEMA_FILE } from "../../data-schema/schema-file.ts";
import { CommandError, EXIT_CODES } from "../exit-codes.ts";
import { isFile } from "../files/disk.ts";
import { readNamed, STANDARD_INPUT, utf8Text } from "../files/folder.ts";
import { OUT_OF_TIME, runWithinSeconds } from "../files/time-limit.ts";
import { printableLine } from "../terminal.ts";
import { type Project, pathBesideSource } from "./project.ts";
import type { DataText } from "./request.ts";

/** Far longer than any reasonable data takes: what takes longer would probably never end. */
const MAX_JUDGE_SECONDS = 10;
/** In addition, for each row of `--each`; an ordinary one takes far less than a millisecond. */
const MAX_SECONDS_PER_ROW = 0.01;
/** Far longer than any that people write. The validator needs a multiple of this. */
const MAX_SCHEMA_BYTES = 1024 ** 2;

interface DataRow {
  readonly data: string;
  readonly line: number;
  readonly column: number | null;
}

type LocatedFinding = SchemaFinding & { readonly file: string };

/** @param doing what was not done: "sent" or "compiled". @throws CommandError with each mistake, also of the schema */
export async function requireValidData(project: Project, data: DataText | null, doing: string): Promise<void> {
  const row = { data: data?.text ?? "{}", line: 1, column: 1 };
  const file = data === null ? "(no data)" : describeFile(data.name);
  const what = data === null ? "there is no data, which does" : `${file} does`;
  await requireValidRows(project, file, [row], () => `Nothing was ${doing}: ${what}`);
}

/** Like `requireValidData`, for each row of `--each`. */
export async function requireValidDocuments(
  project: Project,
  each: string,
  documents: readonly DataRow[],
  doing: string,
): Promise<void> {
  const file = describeFile(each);
  await requireValidRows(project, file, documents, (wrong) => {
    return `Nothing was ${doing}: ${wrong} of ${documents.length} rows of ${file} do`;
  });
}

/** @param begin makes the beginning of the last line, from the number of wrong rows */
async function requireValidRows(
  project: Project,
  file: string,
  rows: readonly DataRow[],
  begin: (wrongRows: number) => string,
): Promise<void> {
  const name = printableLine(pathBesideSource(project, SCHEMA_FILE));
  const schema = await loadSchema(project, name);
  if (schema === null) return;
  const found: LocatedFinding[] = [];
  let total = 0;
  let wrongRows = 0;
  const deadline = performance.now() / 1000 + MAX_JUDGE_SECONDS + MAX_SECONDS_PER_ROW * rows.length;
  for (const row of rows) {
    const left = Math.min(MAX_JUDGE_SECONDS, deadline - performance.now() / 1000);
    const judgement = left > 0 ? runWithinSeconds(left, () => schema.judge(row.data)) : OUT_OF_TIME;
    if (judgement === OUT_OF_TIME) {
      throw new CommandError(
        `${name} took longer than ${MAX_JUDGE_SECONDS} seconds for the data: look for a pattern such as (a+)+$ or for references that branch.`,
      );
    }
    total += judgement.count;
    if (judgement.count > 0) wrongRows++;
    const room = MAX_FINDINGS - found.length;
    found.push(...judgement.findings.slice(0, room).map((finding) => locate(finding, file, row)));
  }
  if (total === 0) return;
  const findings = found.map(({ offset: _offset, length: _length, ...finding }) => finding);
  const text = listFindings(found, total, `${begin(wrongRows)} not fit ${name}.`);
  throw new CommandError(text, EXIT_CODES.request, { findings });
}

const CSV_IS_TEXT =
  ": all values of CSV are text. Let the schema take a string, and the template compute with decimal(); or use JSON Lines";

/** Where a finding in a row is in the file; in CSV, where the row begins. */
function locate(finding: SchemaFinding, file: string, { line, column }: DataRow): LocatedFinding {
  if (column === null) {
    return { ...finding, message: finding.message.replace(LEAVE_OUT_QUOTES, CSV_IS_TEXT), file, line, column: 1 };
  }
  const before = finding.line === 1 ? column - 1 : 0;
  return { ...finding, file, line: line + finding.line - 1, column: before + finding.column };
}

/** Null if there is none. @throws CommandError with each mistake in what is not a schema */
async function loadSchema({ root, folder }: Project, name: string): Promise<DataSchema | null> {
  const path = join(folder, SCHEMA_FILE);
  if (!isFile(path)) return null;
  const bytes = readNamed(path, name, root);
  if (bytes.length > MAX_SCHEMA_BYTES) {
    throw new CommandError(`${name} has ${bytes.length} bytes; the limit is ${MAX_SCHEMA_BYTES}.`);
  }
  // The validator is loaded only if there is a schema.
  const { readSchema } = await import("../../data-schema/data-schema.ts");
  const read = await readSchema(utf8Text(bytes, name));
  if ("schema" in read) return read.schema;
  const findings = read.findings.map((finding) => ({ ...finding, file: name }));
  throw new CommandError(listFindings(findings, read.count, `${name} is not a schema of JSON Schema 2020-12.`));
}

function describeFile(name: string): string {
  return name === STANDARD_INPUT ? "standard input" : printableLine(name);
}

function listFindings(findings: readonly LocatedFinding[], count: number, summary: string): string {
  const more = count - findings.length;
  return [
    ...findings.map((finding) => printableLine(findingInWords(finding.file, finding))),
    ...(more > 0 ? [`… and ${more} more.`] : []),
    summary,
  ].join("\n");
}
