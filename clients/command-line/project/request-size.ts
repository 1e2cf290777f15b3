/** How large a request is, and what makes it large: for `--dry-run`, and for every problem about a size. */
import type { ServiceProblem } from "../../typescript/client.ts";
import { encodeRequest, type RenderRequest } from "../../typescript/render-request.ts";
import { sizeInWords } from "../../typescript/size-in-words.ts";
import { largestInWords, type Sized } from "./collected-files.ts";
import type { Project } from "./project.ts";
import type { DataText } from "./request.ts";

export interface SentFile extends Sized {
  readonly part: "source" | "data" | "file";
  readonly encoding: "text" | "base64" | "json";
  /** The bytes that it takes in the body: with the escapes of JSON, or as Base64. */
  readonly sentBytes: number;
}

/** A project and the request that is made of it. */
export interface SentProject {
  readonly project: Project;
  readonly data: DataText | null;
  readonly request: RenderRequest;
}

export function sentFiles({ project, data, request }: SentProject): SentFile[] {
  const { source, sourceName, files } = project;
  const found: SentFile[] = [
    { part: "source", key: sourceName, encoding: "text", bytes: source.length, sentBytes: jsonBytes(request.source) },
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
export function sizeDetails(problem: ServiceProblem, sent: SentProject): string[] {
  switch (problem.code) {
    case "request_too_large":
      return sizeInLines(sent, inBytes(problem.context.limit));
    case "template_source_too_large":
    case "template_file_too_large":
    case "string_too_large":
      return sizeInLines(sent, "");
    case "invalid_file_data":
      return "count" in problem.context ? sizeInLines(sent, "") : [];
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
  return words.includes("byte") ? words : `${words} (${bytes.toLocaleString("en")} bytes)`;
}

function jsonBytes(text: string): number {
  return Buffer.byteLength(JSON.stringify(text));
}
