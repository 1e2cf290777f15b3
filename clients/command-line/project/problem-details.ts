/** What the command can add to a problem, and to `--dry-run`: the sizes of the files, and better names for them. */
import { quote } from "../../../rules/quote.ts";
import { suggestFileKeys } from "../../document/file-key-suggestion.ts";
import { countInWords, firstInWords, sizeInWords } from "../../document/size-in-words.ts";
import type { ServiceProblem } from "../../typescript/client.ts";
import { encodeRequest, type RenderRequest } from "../../typescript/render-request.ts";
import { largestInWords, type Sized } from "../files/collected-files.ts";
import type { Project } from "./project.ts";
import type { DataText } from "./request.ts";
import { isAtRoot } from "./sent-texts.ts";

export interface SentFile extends Sized {
  readonly part: "source" | "data" | "file";
  readonly encoding: "text" | "base64" | "json";
  /** The bytes that it takes in the body: with the escapes of JSON, or as Base64. */
  readonly sentBytes: number;
}

export interface SentProject {
  readonly project: Project;
  readonly data: DataText | null;
  readonly request: RenderRequest;
}

export function sentFiles({ project, data, request }: SentProject): SentFile[] {
  const { source, sourceKey, sourceName, files } = project;
  const text = isAtRoot(sourceKey) ? request.source : (request.files?.[sourceKey]?.content ?? "");
  const found: SentFile[] = [
    { part: "source", key: sourceName, encoding: "text", bytes: source.length, sentBytes: jsonBytes(text) },
  ];
  if (data !== null) {
    const bytes = Buffer.byteLength(data.text);
    found.push({ part: "data", key: data.name, encoding: "json", bytes, sentBytes: bytes });
  }
  for (const { key, bytes } of files) {
    const { encoding = "text", content = "" } = request.files?.[key] ?? {};
    found.push({ part: "file", key, encoding, bytes: bytes.length, sentBytes: jsonBytes(content) });
  }
  return found;
}

export function bodyBytes(request: RenderRequest): number {
  return encodeRequest(request).length;
}

/** The size of a request that exceeds a limit on sizes, and its largest files; empty for other problems. */
function sizeDetails(problem: ServiceProblem, sent: SentProject): string[] {
  switch (problem.code) {
    case "request_too_large":
      return [...sizeInLines(sent, inBytes(problem.context.limit)), ...causeDetails(sent.project)];
    case "template_source_too_large":
    case "string_too_large":
      return sizeInLines(sent, "");
    case "template_file_too_large":
      return [...sizeInLines(sent, ""), ...causeDetails(sent.project)];
    case "invalid_file_data":
      return "count" in problem.context ? [...sizeInLines(sent, ""), ...causeDetails(sent.project)] : [];
    default:
      return [];
  }
}

/** @param limit on the whole request in words; empty for another limit, which the problem names */
export function sizeInLines(sent: SentProject, limit: string): string[] {
  const allowed = limit === "" ? "" : `; the limit is ${limit}`;
  return [`The request has ${inBytes(bodyBytes(sent.request))}${allowed}.`, ...largestInWords(sentFiles(sent))];
}

export function inBytes(bytes: number): string {
  const words = sizeInWords(bytes);
  return words.includes("byte") ? words : `${words} (${String(bytes).replace(THOUSANDS, ",")} bytes)`;
}

/** Where `Intl` would put a comma; to load that takes longer than the rest of a plan. */
const THOUSANDS = /\B(?=(?:\d{3})+$)/g;

function causeDetails(project: Project): string[] {
  return [...byKindDetails(project), ...packageDetails(project)];
}

/** An operator can do what a caller cannot: packages that the service has are not sent. */
function packageDetails({ packages, files }: Project): string[] {
  const sent = new Set(files.map(({ key }) => key));
  const found = packages.found.filter(({ keys }) => keys.some((key) => sent.has(key)));
  if (found.length === 0) return [];
  const count = found.reduce((sum, { keys }) => sum + keys.length, 0);
  const names = found.map(({ name, keys }) => `${name} (${keys.length})`);
  return [
    `${countInWords(count, "file")} of these are of packages: ${firstInWords(names, MAX_NAMED)}. The operator of the service can install them, or allow more and larger files (SERVICE_MAX_INLINE_FILES, SERVICE_MAX_INLINE_FILE_BYTES).`,
  ];
}

/** Where a folder is named, the cause is mostly files that no document reads. */
function byKindDetails({ byKind, files, sourceName }: Project): string[] {
  if (byKind.length === 0) return [];
  return [
    `${byKind.length} of the ${countInWords(files.length, "file")} are sent only because you named the folder and the template computes paths: name ${sourceName} instead, with --files for what it reads, or exclude the others in .renderignore.`,
  ];
}

function jsonBytes(text: string): number {
  return Buffer.byteLength(JSON.stringify(text));
}

const MAX_NAMED = 5;

export function problemDetails(problem: ServiceProblem, sent: SentProject): string[] {
  const { project } = sent;
  const computed = problem.code === "template_compile_failed" ? computedDetails(project) : [];
  return [...nameDetails(problem, project), ...sizeDetails(problem, sent), ...computed];
}

function computedDetails({ computesPaths }: Project): string[] {
  if (!computesPaths) return [];
  return [
    "The template computes paths. Files whose names are neither in it nor in the data are not sent: `check` lists the missing ones, with the --files that sends them.",
  ];
}

const MAX_LISTED = 50;

/** All file names that the rules for keys reject, each with a better one. */
function nameDetails(problem: ServiceProblem, { files }: Project): string[] {
  const isOfNames =
    problem.code === "invalid_template_path" ||
    (problem.code === "invalid_file_data" && "rule" in problem.context && problem.context.rule !== "too_many_keys");
  if (!isOfNames) return [];
  const names = suggestFileKeys(files.map(({ key }) => key));
  const lines = [...names].slice(0, MAX_LISTED).map(([key, better]) => `${quote(key)}: rename it to ${better}`);
  if (names.size > MAX_LISTED) lines.push(`… and ${names.size - MAX_LISTED} more.`);
  return names.size === 0 ? [] : [...lines, "Change the names in the sources that read them, too."];
}
