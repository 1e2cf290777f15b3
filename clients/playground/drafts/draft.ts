/**
 * A draft: the template, the data, the files and the output options, from which the request is made. Drafts and their
 * parts are immutable: an edit makes new ones, so that parts that have not changed are not encoded, validated or stored
 * again.
 */
import type { OutputField, OutputFormat } from "../../../rules/output-options.ts";
import type { Encoding } from "../../../rules/render-request.ts";
import { SCHEMA_FILE } from "../../data-schema/schema-file.ts";
import { suggestFileKey } from "../../typescript/file-key-suggestion.ts";
import { joinBytes } from "../../typescript/join-bytes.ts";

/** The content of a file: a string if it can be edited as text, otherwise bytes. */
export class FileContent {
  readonly value: string | Uint8Array<ArrayBuffer>;
  #encoded: string | undefined;
  #json: Uint8Array | undefined;
  #size: number | undefined;

  constructor(value: string | Uint8Array<ArrayBuffer>) {
    this.value = value;
  }

  /** Text if the bytes are UTF-8 without NUL. A byte order mark stays part of the text. */
  static ofBytes(bytes: Uint8Array<ArrayBuffer>): FileContent {
    if (bytes.includes(0)) return new FileContent(bytes);
    try {
      return new FileContent(new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes));
    } catch {
      return new FileContent(bytes);
    }
  }

  get encoding(): Encoding {
    return typeof this.value === "string" ? "text" : "base64";
  }

  /** The content as in a request: text, or Base64. */
  get encoded(): string {
    this.#encoded ??= typeof this.value === "string" ? this.value : this.value.toBase64();
    return this.#encoded;
  }

  get json(): Uint8Array {
    this.#json ??= new TextEncoder().encode(entryJson(this));
    return this.#json;
  }

  /** In bytes, after decoding. */
  get size(): number {
    this.#size ??= this.bytes().length;
    return this.#size;
  }

  bytes(): Uint8Array<ArrayBuffer> {
    return typeof this.value === "string" ? new TextEncoder().encode(this.value) : this.value;
  }
}

/** An entry of `files`. */
export interface DraftFile {
  /** Stays the same when the file is renamed or edited. */
  readonly id: number;
  readonly key: string;
  readonly content: FileContent;
}

/** The members of `output` as JSON texts; those that are not set are absent. */
export type DraftOutput = { readonly format: OutputFormat } & {
  readonly members: Readonly<Partial<Record<OutputField, string>>>;
};

export interface Draft {
  readonly source: string;
  /** JSON text; empty when the request has no `data`. */
  readonly data: string;
  readonly files: readonly DraftFile[];
  readonly output: DraftOutput;
}

let lastFileId = 0;

export function draftFile(key: string, content: FileContent): DraftFile {
  lastFileId++;
  return { id: lastFileId, key, content };
}

/**
 * The body of the request as text, so that `data` reaches the service exactly as typed and no number is rounded. `data`
 * must be a single JSON value, or it could close the object into which it is put.
 */
export function requestBody(draft: Draft): string {
  const { source, data, output } = draft;
  const members = [`"source":${JSON.stringify(source)}`];
  const sent = listSentFiles(draft);
  if (sent.length > 0) {
    members.push(
      `"files":{${sent.map(({ key, content }) => `${JSON.stringify(key)}:${entryJson(content)}`).join(",")}}`,
    );
  }
  if (data.trim() !== "") members.push(`"data":${data.trim()}`);
  members.push(`"output":${outputJson(output)}`);
  return `{${members.join(",")}}`;
}

/**
 * The files that are sent. As in the command line, the schema of the data is one of them only if the template names it.
 */
export function listSentFiles({ source, files }: Draft): readonly DraftFile[] {
  return source.includes(SCHEMA_FILE) ? files : files.filter(({ key }) => key !== SCHEMA_FILE);
}

/**
 * The body in UTF-8. The files are encoded only once: they may have megabytes, and rendering goes on while people type.
 */
export function requestBytes(draft: Draft): Uint8Array<ArrayBuffer> {
  const encoder = new TextEncoder();
  const rest = requestBody({ ...draft, files: [] });
  const parts: Uint8Array[] = [encoder.encode('{"files":{')];
  for (const [index, { key, content }] of listSentFiles(draft).entries()) {
    parts.push(encoder.encode(`${index === 0 ? "" : ","}${JSON.stringify(key)}:`), content.json);
  }
  parts.push(encoder.encode(`},${rest.slice(1)}`));
  return joinBytes(parts);
}

function entryJson({ encoding, encoded }: FileContent): string {
  return `{"encoding":"${encoding}","content":${JSON.stringify(encoded)}}`;
}

/** `output` as a JSON text. */
export function outputJson({ format, members }: DraftOutput): string {
  const options = Object.entries({ format: JSON.stringify(format), ...members });
  return `{${options.map(([name, value]) => `"${name}":${value}`).join(",")}}`;
}

/** The title of a draft in the list: the first heading, or else the first line with text. */
export function draftTitle({ source }: Pick<Draft, "source">): string {
  const lines = source.split("\n", MAX_SCANNED_LINES).map((line) => line.trim());
  const title = headingIn(lines) ?? lines.find((line) => line !== "" && !line.startsWith("//")) ?? "";
  return title.slice(0, MAX_TITLE_CODE_UNITS) || "Empty template";
}

/**
 * What the files made from a draft are called, without an extension: its own file name, or the words of its first
 * heading. The name needs no quotes in a shell.
 */
export function draftFileStem({ source, output }: Draft): string {
  const fileName = output.members.filename;
  const named = fileName === undefined ? "" : String(JSON.parse(fileName)).replace(/\.(?:pdf|png|svg|zip)$/i, "");
  const heading = headingIn(source.split("\n", MAX_SCANNED_LINES)) ?? "";
  const words = named || heading.replace(/#[\w.-]+/g, "").slice(0, MAX_TITLE_CODE_UNITS);
  return /[\p{L}\p{N}]/u.test(words) ? suggestFileKey(words, []).replaceAll("/", "-").replace(/^-+/, "") : "draft";
}

function headingIn(lines: readonly string[]): string | null {
  return lines.find((line) => /^\s*=+ /.test(line))?.replace(/^\s*=+ /, "") ?? null;
}

const MAX_SCANNED_LINES = 500;
const MAX_TITLE_CODE_UNITS = 60;
