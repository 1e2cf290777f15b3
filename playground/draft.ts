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
    const entries = sent.map(
      ({ key, content }) =>
        `${JSON.stringify(key)}:{"encoding":"${content.encoding}","content":${JSON.stringify(content.encoded)}}`,
    );
    members.push(`"files":{${entries.join(",")}}`);
  }
  if (data.trim() !== "") members.push(`"data":${data.trim()}`);
  members.push(`"output":${outputJson(output)}`);
  return `{${members.join(",")}}`;
}

/** The files that are sent: the schema of the data only if the template names it, as the command line does it. */
export function sentFiles({ source, files }: Draft): readonly DraftFile[] {
  return source.includes(SCHEMA_FILE) ? files : files.filter(({ key }) => key !== SCHEMA_FILE);
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
