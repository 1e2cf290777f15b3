/**
 * What people work on: the template, the data, the files and the output options, and the request that they make. Drafts and all that
 * is in them are values: an edit makes new ones, so that what has not changed is not encoded, validated or stored again.
 */
import { SCHEMA_FILE } from "../data-schema/schema-file.ts";
import type { OutputField, OutputFormat } from "../rules/output-options.ts";
import type { Encoding } from "../rules/render-request.ts";

/** The content of a file. Text if it can be edited as text. */
export class FileContent {
  readonly value: string | Uint8Array<ArrayBuffer>;
  #encoded: string | undefined;
  #json: Uint8Array | undefined;
  #size: number | undefined;

  constructor(value: string | Uint8Array<ArrayBuffer>) {
    this.value = value;
  }

  /** Text where the bytes are UTF-8 and hold no NUL. A byte order mark stays a part of it. */
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

  /** As a request holds it. */
  get encoded(): string {
    this.#encoded ??= typeof this.value === "string" ? this.value : this.value.toBase64();
    return this.#encoded;
  }

  /** The entry of `files` as JSON in UTF-8. */
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
 * The body of the request as text, so that `data` reaches the service as it was typed and no number is rounded. `data` must be one JSON
 * value, or it could close the object that it is put into.
 */
export function requestBody(draft: Draft): string {
  const { source, data, output } = draft;
  const members = [`"source":${JSON.stringify(source)}`];
  const sent = sentFiles(draft);
  if (sent.length > 0) {
    members.push(
      `"files":{${sent.map(({ key, content }) => `${JSON.stringify(key)}:${entryJson(content)}`).join(",")}}`,
    );
  }
  if (data.trim() !== "") members.push(`"data":${data.trim()}`);
  members.push(`"output":${outputJson(output)}`);
  return `{${members.join(",")}}`;
}

/** The files that are sent: the schema of the data only if the template names it, as the command line does it. */
export function sentFiles({ source, files }: Draft): readonly DraftFile[] {
  return source.includes(SCHEMA_FILE) ? files : files.filter(({ key }) => key !== SCHEMA_FILE);
}

/** The same in UTF-8. What the files add is encoded once: it may be megabytes, and rendering goes on while people type. */
export function requestBytes(draft: Draft): Uint8Array<ArrayBuffer> {
  const encoder = new TextEncoder();
  const rest = requestBody({ ...draft, files: [] });
  const parts: Uint8Array[] = [encoder.encode('{"files":{')];
  for (const [index, { key, content }] of sentFiles(draft).entries()) {
    parts.push(encoder.encode(`${index === 0 ? "" : ","}${JSON.stringify(key)}:`), content.json);
  }
  parts.push(encoder.encode(`},${rest.slice(1)}`));
  return joinedBytes(parts);
}

export function joinedBytes(parts: readonly Uint8Array[]): Uint8Array<ArrayBuffer> {
  const whole = new Uint8Array(parts.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}

function entryJson({ encoding, encoded }: FileContent): string {
  return `{"encoding":"${encoding}","content":${JSON.stringify(encoded)}}`;
}

/** `output` as a JSON text. */
export function outputJson({ format, members }: DraftOutput): string {
  const options = Object.entries({ format: JSON.stringify(format), ...members });
  return `{${options.map(([name, value]) => `"${name}":${value}`).join(",")}}`;
}

/** A name for a list of drafts: the first heading, or the first line that says something. */
export function draftTitle({ source }: Pick<Draft, "source">): string {
  const lines = source.split("\n", 500).map((line) => line.trim());
  const heading = lines.find((line) => /^=+ /.test(line))?.replace(/^=+ /, "");
  const title = heading ?? lines.find((line) => line !== "" && !line.startsWith("//")) ?? "";
  return title.slice(0, MAX_TITLE_CODE_UNITS) || "Empty template";
}

const MAX_TITLE_CODE_UNITS = 60;
