/**
 * Validates data by the JSON Schema (2020-12) beside a template. Nothing is fetched, and no code is generated from it.
 * A regular expression or references that branch can take for ever: the caller of `judge` has to be able to stop it.
 */
import { removeUriSchemePlugin } from "@hyperjump/browser";
import {
  registerSchema,
  type SchemaFragment,
  setShouldValidateFormat,
  setShouldValidateSchema,
  unregisterSchema,
} from "@hyperjump/json-schema/draft-2020-12";
import { addFormat, type CompiledSchema, compile, getSchema, interpret } from "@hyperjump/json-schema/experimental";
import "@hyperjump/json-schema/formats-lite";
import * as Instance from "@hyperjump/json-schema/instance/experimental";
import { FailureCollector } from "./failures.ts";
import { MAX_FINDINGS, type SchemaFinding } from "./finding.ts";
import { jsonErrorOffset } from "./json-error.ts";
import { misspeltKeywords } from "./misspelt-keywords.ts";
import { DIALECT } from "./schema-file.ts";
import { mistakesInSchema } from "./schema-mistakes.ts";
import { type Mistake, mistakesOf, type Subject } from "./sentences.ts";

export interface Judgement {
  /** The first mistakes, in the order of the text. */
  readonly findings: readonly SchemaFinding[];
  readonly count: number;
}

export interface DataSchema {
  judge(data: string): Judgement;
}

for (const scheme of ["http", "https", "file"]) removeUriSchemePlugin(scheme);
setShouldValidateFormat(true);
// The validator has all formats for ASCII but this one (RFC 1123).
const HOST_NAME = /^(?=.{1,253}$)(?!-)[a-z0-9-]{1,63}(?<!-)(?:\.(?!-)[a-z0-9-]{1,63}(?<!-))*$/i;
addFormat({
  id: "https://json-schema.org/format/hostname",
  handler: (value) => typeof value !== "string" || HOST_NAME.test(value),
});
// `readSchema` validates the schema by itself, to say where each mistake is.
setShouldValidateSchema(false);

let metaSchema: Promise<CompiledSchema> | undefined;
let schemasRead = 0;

export async function readSchema(text: string): Promise<{ readonly schema: DataSchema } | Judgement> {
  metaSchema ??= getSchema(DIALECT).then(compile);
  const compiledMetaSchema = await metaSchema;
  try {
    return judgeSyntax(text) ?? (await readJson(text, compiledMetaSchema));
  } catch (error) {
    return explainUnjudgeable(error, text);
  }
}

function judgeSyntax(text: string): Judgement | null {
  const offset = jsonErrorOffset(text);
  return offset === null ? null : judgementAt(text, offset, "is not JSON");
}

async function readJson(text: string, compiledMetaSchema: CompiledSchema) {
  const root = Instance.fromJson(text);
  const value: SchemaFragment = JSON.parse(text, decodeReference);
  const mistakes = [
    ...mistakesIn(root, compiledMetaSchema, { text, schema: null }),
    ...mistakesInSchema(root),
    ...misspeltKeywords(root),
  ];
  if (mistakes.length > 0) return makeJudgement(mistakes, text);
  const schema = typeof value === "boolean" || isMembers(value) ? value : {};
  const uri = `https://data.invalid/${++schemasRead}`;
  try {
    registerSchema(schema, uri, DIALECT);
    const compiled = await compile(await getSchema(uri));
    return { schema: { judge: (data: string) => judge(compiled, { text: data, schema }) } };
  } catch (error) {
    if (error instanceof RangeError) throw error;
    const message = `cannot be used as a schema: ${error instanceof Error ? error.message : String(error)}`;
    return makeJudgement([{ node: root, message }], text);
  } finally {
    unregisterSchema(uri);
  }
}

/** Decodes escaped letters in a reference, such as `#/$defs/Stra%C3%9Fe`: the validator misreads the escapes. */
function decodeReference(name: string, value: unknown): unknown {
  if (typeof value !== "string" || (name !== "$ref" && name !== "$dynamicRef")) return value;
  try {
    return value.replace(/(?:%[89a-f][\da-f])+/gi, decodeURIComponent);
  } catch {
    // Not UTF-8: it leads nowhere, and that is reported.
    return value;
  }
}

function judge(compiled: CompiledSchema, subject: Subject): Judgement {
  const { text } = subject;
  try {
    return judgeSyntax(text) ?? makeJudgement(mistakesIn(Instance.fromJson(text), compiled, subject), text);
  } catch (error) {
    return explainUnjudgeable(error, text);
  }
}

/** The mistakes in a value; empty if and only if it is valid. */
function mistakesIn(root: Instance.JsonNode, compiled: CompiledSchema, subject: Subject): Mistake[] {
  const collector = new FailureCollector();
  if (interpret(compiled, root, { plugins: [collector] }).valid) return [];
  const [first = { node: root, message: "does not fit the schema, which allows nothing here" }, ...others] = mistakesOf(
    collector.failures,
    subject,
  );
  return [first, ...others];
}

function makeJudgement(mistakes: readonly Mistake[], text: string): Judgement {
  const shown = mistakes.slice(0, MAX_FINDINGS);
  const findings = shown.map(({ node, message, hint }) => findingAt(node, text, message + (hint?.() ?? "")));
  return { findings, count: mistakes.length };
}

function explainUnjudgeable(error: unknown, text: string): Judgement {
  const endless = "it is nested too deeply, or the schema refers to itself without end";
  const reason = error instanceof RangeError ? endless : error instanceof Error ? error.message : String(error);
  return judgementAt(text, 0, `cannot be validated: ${reason}`);
}

function isMembers(value: SchemaFragment): value is { [keyword: string]: SchemaFragment } {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function findingAt(node: Instance.JsonNode, text: string, message: string): SchemaFinding {
  const segments = segmentsOf(node);
  const pointer = segments.map((segment) => `/${String(segment).replaceAll("~", "~0").replaceAll("/", "~1")}`).join("");
  const { offset = 0, length = 0 } = node;
  return { path: pathInWords(segments), pointer, ...placeOf(text, offset), length, message };
}

function judgementAt(text: string, offset: number, message: string): Judgement {
  return { findings: [{ path: "", pointer: "", ...placeOf(text, offset), length: 1, message }], count: 1 };
}

function placeOf(text: string, offset: number) {
  const before = text.slice(0, offset).split("\n");
  return { offset, line: before.length, column: (before.at(-1) ?? "").length + 1 };
}

/** For the name of a member, the path to the member. */
function segmentsOf(node: Instance.JsonNode): (string | number)[] {
  const { parent } = node;
  if (parent === undefined) return [];
  if (parent.type !== "property") return [...segmentsOf(parent), parent.children.indexOf(node)];
  const [name] = parent.children;
  const above = parent.parent === undefined ? [] : segmentsOf(parent.parent);
  return [...above, name === undefined ? "" : Instance.value<string>(name)];
}

function pathInWords(segments: readonly (string | number)[]): string {
  const words = segments.map((segment) => {
    if (typeof segment === "number") return `[${segment}]`;
    return /^[\p{L}_$][\p{L}\p{N}_$-]*$/u.test(segment) ? `.${segment}` : `[${JSON.stringify(segment)}]`;
  });
  return words.join("").replace(/^\./, "");
}
