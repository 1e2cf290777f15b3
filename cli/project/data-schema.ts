/**
 * The data of a project against the `data.schema.json` beside its source, before anything is sent or compiled.
 */
import { isUtf8 } from "node:buffer";
import { dirname, join, resolve } from "node:path";
import { createContext, Script } from "node:vm";
import type { DataSchema, Judgement } from "../../data-schema/data-schema.ts";
import { findingInWords, MAX_FINDINGS, type SchemaFinding } from "../../data-schema/finding.ts";
import { SCHEMA_FILE } from "../../data-schema/schema-file.ts";
import type { EachDocument } from "../each/documents.ts";
import { CommandError, EXIT_CODES } from "../exit-codes.ts";
import { printableLine } from "../terminal.ts";
import { isFile, readNamed } from "./folder.ts";
import { type Project, shownPath } from "./project.ts";
import { type DataText, STANDARD_INPUT } from "./request.ts";

/** Far above what any data takes: a regular expression or a reference of the schema that takes longer never ends. */
const MAX_JUDGE_SECONDS = 10;

/** A finding in a file that may have several lines of data. */
type Located = SchemaFinding & { readonly file: string };

/**
 * Passes if the data of a project fits its schema, or there is none.
 *
 * @param doing what is not done otherwise: "sent" or "compiled".
 * @throws CommandError with each mistake, by its line: of the data, or of the schema itself.
 */
export async function requireValidData(project: Project, data: DataText | null, doing: string): Promise<void> {
  const schema = await schemaOf(project);
  if (schema === null) return;
  const { findings, count } = limited(() => schema.judge(data?.text ?? "{}"), schemaName(project));
  if (count === 0) return;
  const file = data === null ? "(no data)" : shownName(data.name);
  throw invalidData(
    findings.map((finding) => ({ ...finding, file })),
    count,
    `Nothing was ${doing}: ${data === null ? "there is no data, which" : file} does not fit ${schemaName(project)}.`,
  );
}

/** As `requireValidData`, for each line of JSON Lines. */
export async function requireValidDocuments(
  project: Project,
  each: string,
  documents: readonly EachDocument[],
): Promise<void> {
  const schema = await schemaOf(project);
  if (schema === null) return;
  const found: Located[] = [];
  let total = 0;
  let wrongLines = 0;
  for (const { line, data } of documents) {
    const { findings, count } = limited(() => schema.judge(data), schemaName(project));
    total += count;
    if (count > 0) wrongLines++;
    found.push(...findings.map((finding) => ({ ...finding, line, file: shownName(each) })));
    if (found.length > MAX_FINDINGS) found.length = MAX_FINDINGS;
  }
  if (total === 0) return;
  const lines = `${wrongLines} of ${documents.length} lines of ${shownName(each)}`;
  throw invalidData(found, total, `Nothing was sent: ${lines} do not fit ${schemaName(project)}.`);
}

/** The schema of a project; null if it has none. @throws CommandError when it is not a schema */
async function schemaOf({ root, sourceName }: Project): Promise<DataSchema | null> {
  const path = join(root, SCHEMA_FILE);
  return (await isFile(path)) ? (await readSchemaFile(path, shownPath(root, sourceName, SCHEMA_FILE))).schema : null;
}

/**
 * Reads a schema from its file.
 *
 * @param name of the file, for messages
 * @throws CommandError with each mistake, when it is not a schema
 */
export async function readSchemaFile(path: string, name = path): Promise<{ schema: DataSchema; value: unknown }> {
  const bytes = await readNamed(path, name, dirname(resolve(path)));
  const shown = printableLine(name);
  if (!isUtf8(bytes)) throw new CommandError(`${shown} is not UTF-8.`);
  const text = bytes.toString("utf8").replace(/^\ufeff/, "");
  // The validator is loaded only where there is a schema.
  const { readSchema } = await import("../../data-schema/data-schema.ts");
  const read = await readSchema(text);
  if ("schema" in read) return { schema: read.schema, value: JSON.parse(text) };
  const located = read.findings.map((finding) => ({ ...finding, file: shown }));
  throw new CommandError(listed(located, read.count, `${shown} is not a schema of JSON Schema 2020-12.`));
}

const context = createContext({ run: () => {} });
const script = new Script("run()");

/** Ends what runs without end: V8 interrupts regular expressions as well. */
function limited(judge: () => Judgement, name: string): Judgement {
  let judgement: Judgement | undefined;
  context.run = () => {
    judgement = judge();
  };
  try {
    script.runInContext(context, { timeout: MAX_JUDGE_SECONDS * 1000 });
  } catch (error) {
    if (!(error instanceof Error && "code" in error && error.code === "ERR_SCRIPT_EXECUTION_TIMEOUT")) throw error;
  }
  if (judgement !== undefined) return judgement;
  throw new CommandError(
    `${name} took longer than ${MAX_JUDGE_SECONDS} seconds for the data: look for a pattern such as (a+)+$ or for references that branch.`,
  );
}

function schemaName({ root, sourceName }: Project): string {
  return printableLine(shownPath(root, sourceName, SCHEMA_FILE));
}

function shownName(name: string): string {
  return name === STANDARD_INPUT ? "standard input" : printableLine(name);
}

function invalidData(findings: readonly Located[], count: number, summary: string): CommandError {
  const members = findings.map(({ file, line, column, path, pointer, message }) => {
    return { file, line, column, path, pointer, message };
  });
  return new CommandError(listed(findings, count, summary), EXIT_CODES.request, { findings: members });
}

function listed(findings: readonly Located[], count: number, summary: string): string {
  const more = count - findings.length;
  return [
    ...findings.map((finding) => printableLine(findingInWords(finding.file, finding))),
    ...(more > 0 ? [`… and ${more} more.`] : []),
    summary,
  ].join("\n");
}
