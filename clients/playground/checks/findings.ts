/** What is wrong with a draft, and in which field, by the rules with which the service validates. */
import { isValidKey } from "../../../rules/files-rules.ts";
import type { Limits } from "../../../rules/limits.ts";
import { OUTPUT_FIELDS, type OutputField } from "../../../rules/output-options.ts";
import { OUTPUT_RULES } from "../../../rules/output-rules.ts";
import { type Problem, requestTooLarge, type ValidationError } from "../../../rules/problem.ts";
import { parseRenderRequest } from "../../../rules/render-request.ts";
import { jsonErrorOffset } from "../../data-schema/json-error.ts";
import { type Draft, type DraftFile, FileContent, listSentFiles, requestBytes } from "../drafts/draft.ts";

/** A range of a text, in UTF-16 code units. The default length is 1. */
export interface TextPlace {
  readonly offset?: number;
  readonly length?: number;
}

export type Place =
  | ({ readonly field: "source" } & TextPlace)
  | ({ readonly field: "data"; readonly path?: readonly (string | number)[] } & TextPlace)
  /** `keys` is empty if all files are concerned. A range is in the text of the only file. */
  | ({ readonly field: "files"; readonly keys: readonly string[] } & TextPlace)
  | { readonly field: OutputField };

export interface DraftFinding {
  readonly place: Place;
  readonly message: string;
  readonly isWarning?: boolean;
  /** The line of a mistake for which Typst is sure to refuse the request, although the request is valid. */
  readonly mistakeLine?: number;
}

export interface ProblemReport {
  readonly code: string;
  readonly detail: string;
  readonly context: object;
}

export type Verdict =
  | { readonly ok: true }
  /** `problem` is null if `data` is not JSON: then there is no request yet. */
  | { readonly ok: false; readonly problem: ProblemReport | null; readonly findings: readonly DraftFinding[] };

/** Validates a draft as the service will, at each pause in typing: contents of files separately, and each only once. */
export function validateDraft(draft: Draft, limits: Limits): Verdict {
  const malformedAt = draft.data.trim() === "" ? null : jsonErrorOffset(draft.data);
  const files = draft.files.map((file) => ({ ...file, content: NO_CONTENT }));
  const body = requestBytes({ ...draft, files, ...(malformedAt !== null && { data: "" }) });
  const problems = [...problemsOf(body, limits), ...draft.files.flatMap((file) => contentProblem(file, limits) ?? [])];
  const size = listSentFiles(draft).reduce(
    (sum, { content }) => sum + content.json.length - NO_CONTENT.json.length,
    body.length,
  );
  if (problems.length === 0 && size > limits.max_request_body_bytes) {
    problems.push(requestTooLarge(size, limits.max_request_body_bytes));
  }
  if (malformedAt === null && problems.length === 0) return { ok: true };
  const keys = draft.files.map(({ key }) => key);
  const findings = problems.flatMap((problem) => findingsOf(problem, keys));
  // The service names only the first problem; here, one in the options is shown besides.
  if (!findings.some(({ place }) => OUTPUT_FIELDS.some((name) => name === place.field))) {
    const alone = requestBytes({ source: "x", data: "", files: [], output: draft.output });
    findings.push(...problemsOf(alone, limits).flatMap((problem) => findingsOf(problem, [])));
  }
  if (malformedAt === null) return { ok: false, problem: problems[0] ?? null, findings };
  const message = `Not valid JSON: ${placeOf(draft.data, malformedAt)}`;
  const malformed: DraftFinding = { place: { field: "data", offset: malformedAt }, message };
  return { ok: false, problem: null, findings: [malformed, ...findings] };
}

const NO_CONTENT = new FileContent("");

function problemsOf(body: Uint8Array, limits: Limits): Problem[] {
  const parsed = parseRenderRequest(body, limits);
  return parsed.ok ? [] : [parsed.problem];
}

const contentVerdicts = new WeakMap<FileContent, { key: string; limits: Limits; problem: Problem | null }>();

/** What is wrong with the content of a file. Its key is validated together with the other keys. */
function contentProblem(file: DraftFile, limits: Limits): Problem | null {
  const key = isValidKey(file.key) ? file.key : "file";
  const known = contentVerdicts.get(file.content);
  if (known?.key === key && known.limits === limits) return known.problem;
  const draft: Draft = { source: "x", data: "", files: [{ ...file, key }], output: { format: "pdf", members: {} } };
  const [problem = null] = problemsOf(requestBytes(draft), { ...limits, effective_max_files: 1 });
  contentVerdicts.set(file.content, { key, limits, problem });
  return problem;
}

function placeOf(text: string, offset: number): string {
  if (offset >= text.trimEnd().length) return "it ends too early.";
  const before = text.slice(0, offset).split("\n");
  return `see line ${before.length}, column ${(before.at(-1) ?? "").length + 1}.`;
}

export function findingsOf({ code, detail, context }: ProblemReport, keys: readonly string[]): DraftFinding[] {
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
function findingAt(place: Place, message: string): DraftFinding {
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
