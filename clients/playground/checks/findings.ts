/** What is wrong with a draft, and in which field, by the rules with which the service validates. */
import { requestTooLarge } from "../../../rules/declared-size.ts";
import { isValidKey } from "../../../rules/files-rules.ts";
import type { Limits } from "../../../rules/limits.ts";
import { OUTPUT_FIELDS, type OutputField } from "../../../rules/output-options.ts";
import { OUTPUT_RULES } from "../../../rules/output-rules.ts";
import type { Problem, ValidationError } from "../../../rules/problem.ts";
import { parseRenderRequest } from "../../../rules/render-request.ts";
import { jsonErrorOffset as offsetOfError } from "../../data-schema/json-error.ts";
import { type Draft, type DraftFile, FileContent, requestBody, requestBytes } from "../drafts/draft.ts";

/** A range of a text, in UTF-16 code units. The default length is 1. */
export interface TextPlace {
  readonly offset?: number;
  readonly length?: number;
}

/** Where a message belongs. */
export type Place =
  | ({ readonly field: "source" } & TextPlace)
  /** `path` leads to a value. */
  | ({ readonly field: "data"; readonly path?: readonly (string | number)[] } & TextPlace)
  /** The keys of the files concerned; empty if all files are. The range is one of the text of the only file. */
  | ({ readonly field: "files"; readonly keys: readonly string[] } & TextPlace)
  | { readonly field: OutputField };

export interface Finding {
  readonly place: Place;
  readonly message: string;
  /** The request can be sent as it is. */
  readonly isWarning?: boolean;
}

/** The parts of a problem that this module reads, whether it was found here or answered by the service. */
export interface ProblemReport {
  readonly code: string;
  readonly detail: string;
  readonly context: object;
}

export type Verdict =
  | { readonly ok: true }
  | { readonly ok: false; readonly problem: ProblemReport | null; readonly findings: readonly Finding[] };

/**
 * Validates a draft as the service will. `problem` is null if `data` is not JSON, because then there is no request yet.
 *
 * It runs while people type, so the contents of files, which may have megabytes, are validated separately, and each
 * only once.
 */
export function validateDraft(draft: Draft, limits: Limits): Verdict {
  const malformedAt = jsonErrorOffset(draft.data);
  const files = draft.files.map((file) => ({ ...file, content: NO_CONTENT }));
  const body = encode(requestBody({ ...draft, files, ...(malformedAt !== null && { data: "" }) }));
  const parsed = parseRenderRequest(body, limits);
  const problems = [
    ...(parsed.ok ? [] : [parsed.problem]),
    ...draft.files.flatMap((file) => contentProblem(file, limits) ?? []),
  ];
  if (problems.length === 0) problems.push(...sizeProblem(body.length, draft, limits));
  if (malformedAt === null && problems.length === 0) return { ok: true };
  const keys = draft.files.map(({ key }) => key);
  const findings = problems.flatMap((problem) => findingsOf(problem, keys));
  // The service names only the first problem. A problem in the options is shown besides one in the template, data or
  // files.
  if (!findings.some(({ place }) => isOutputField(place.field))) findings.push(...outputFindings(draft, limits));
  if (malformedAt === null) return { ok: false, problem: problems[0] ?? null, findings };
  const message = `Not valid JSON: ${placeOf(draft.data, malformedAt)}`;
  return {
    ok: false,
    problem: null,
    findings: [{ place: { field: "data", offset: malformedAt }, message }, ...findings],
  };
}

const NO_CONTENT: FileContent = new FileContent("");

/** What is wrong with a content, and the limits and the key with which it was validated. */
interface ContentVerdict {
  readonly key: string;
  readonly limits: Limits;
  readonly problem: Problem | null;
}

const contentVerdicts = new WeakMap<FileContent, ContentVerdict>();

/** What is wrong with the content of a file. Its key is validated together with the other keys. */
function contentProblem(file: DraftFile, limits: Limits): Problem | null {
  const key = isValidKey(file.key) ? file.key : "file";
  const known = contentVerdicts.get(file.content);
  if (known?.key === key && known.limits === limits) return known.problem;
  const draft: Draft = { source: "x", data: "", files: [{ ...file, key }], output: { format: "pdf", members: {} } };
  const parsed = parseRenderRequest(requestBytes(draft), { ...limits, effective_max_files: 1 });
  const problem = parsed.ok ? null : parsed.problem;
  contentVerdicts.set(file.content, { key, limits, problem });
  return problem;
}

/** @param bytesWithoutContents the size of the body with empty files */
function sizeProblem(bytesWithoutContents: number, { files }: Draft, limits: Limits): Problem[] {
  // The escapes in texts make the body longer, but by how much is known only when the request is sent.
  const contents = files.map(({ content }) => (content.encoding === "text" ? content.size : content.encoded.length));
  const size = contents.reduce((sum, each) => sum + each, bytesWithoutContents);
  return size > limits.max_request_body_bytes ? [requestTooLarge({ contentLength: String(size) }, limits)] : [];
}

function encode(body: string): Uint8Array {
  return new TextEncoder().encode(body);
}

function outputFindings({ output }: Draft, limits: Limits): Finding[] {
  const body = requestBody({ source: "x", data: "", files: [], output });
  const parsed = parseRenderRequest(encode(body), limits);
  return parsed.ok ? [] : findingsOf(parsed.problem, []);
}

function isOutputField(field: string): boolean {
  return OUTPUT_FIELDS.some((name) => name === field);
}

/** As in data-schema/json-error.ts, but a draft may have no data. */
export function jsonErrorOffset(text: string): number | null {
  return text.trim() === "" ? null : offsetOfError(text);
}

function placeOf(text: string, offset: number): string {
  if (offset >= text.trimEnd().length) return "it ends too early.";
  const before = text.slice(0, offset).split("\n");
  return `see line ${before.length}, column ${(before.at(-1) ?? "").length + 1}.`;
}

/** A problem's messages by field; empty if it concerns no field. `keys` are those of the draft's files. */
export function findingsOf({ code, detail, context }: ProblemReport, keys: readonly string[]): Finding[] {
  const members: { readonly [name: string]: unknown } = { ...context };
  const rule = OUTPUT_RULES.find(({ id }) => id === members.rule);
  if (rule !== undefined) return [{ place: { field: rule.field }, message: detail }];
  if (Array.isArray(members.errors)) {
    return members.errors
      .filter(isValidationError)
      .map(({ loc, msg }) => findingAt(placeOfLoc(loc, keys), sentence(msg)));
  }
  const place = placeOfCode(code, members);
  return place === null ? [] : [findingAt(place, detail)];
}

/** In the page, the key of a file is called its path. A name in the message stays as it is. */
function findingAt(place: Place, message: string): Finding {
  const isOfFiles = place.field === "files";
  return {
    place,
    message: isOfFiles ? message.replace(/(?<!["\w./-])(?:files )?key(s?)(?!["\w/-]|\.\w)/g, "path$1") : message,
  };
}

function placeOfCode(code: string, context: { readonly [name: string]: unknown }): Place | null {
  const { key, path } = context;
  switch (code as Problem["code"]) {
    case "template_source_too_large":
    case "template_compile_failed":
      return { field: "source" };
    case "request_too_large":
      return { field: "files", keys: [] };
    case "invalid_file_data":
    case "template_file_too_large":
      return { field: "files", keys: typeof key === "string" ? [key] : [] };
    case "string_too_large":
      return { field: "data", ...(Array.isArray(path) && { path }) };
    case "page_selection_too_large":
      return { field: "pages" };
    default:
      return null;
  }
}

function placeOfLoc([root, ...rest]: ValidationError["loc"], keys: readonly string[]): Place {
  if (root === "data") return { field: "data", path: rest };
  if (root === "files") {
    const [key] = rest;
    // The `loc` of an invalid key does not name it.
    return { field: "files", keys: typeof key === "string" ? [key] : keys.filter((each) => !isValidKey(each)) };
  }
  const field = root === "output" ? OUTPUT_FIELDS.find((name) => name === rest[0]) : undefined;
  return { field: field ?? (root === "output" ? "format" : "source") };
}

function isValidationError(value: unknown): value is ValidationError {
  return typeof value === "object" && value !== null && "loc" in value && Array.isArray(value.loc) && "msg" in value;
}

function sentence(text: string): string {
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}${/[.!?]$/.test(text) ? "" : "."}`;
}
