/** A draft, from which the request is made. Its parts are immutable: what has not changed is not encoded again. */
import type { OutputField, OutputFormat } from "../../../rules/output-options.ts";
import type { Encoding } from "../../../rules/render-request.ts";
import { SCHEMA_FILE } from "../../data-schema/schema-file.ts";
import { suggestFileKey } from "../../document/file-key-suggestion.ts";
import { joinBytes } from "../../typescript/join-bytes.ts";

export class FileContent {
  readonly value: string | Uint8Array<ArrayBuffer>;
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

  get json(): Uint8Array {
    const { value, encoding } = this;
    this.#json ??= encode(JSON.stringify({ encoding, content: typeof value === "string" ? value : value.toBase64() }));
    return this.#json;
  }

  get size(): number {
    this.#size ??= this.bytes().length;
    return this.#size;
  }

  bytes(): Uint8Array<ArrayBuffer> {
    return typeof this.value === "string" ? encode(this.value) : this.value;
  }
}

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

/** `data` is sent as typed, so that no number is rounded; it must be one JSON value, or it could close the object. */
export function requestBytes(draft: Draft): Uint8Array<ArrayBuffer> {
  const { source, data, output } = draft;
  const parts: Uint8Array[] = [encode(`{"source":${JSON.stringify(source)}`)];
  const sent = listSentFiles(draft);
  for (const [index, { key, content }] of sent.entries()) {
    parts.push(encode(`${index === 0 ? ',"files":{' : ","}${JSON.stringify(key)}:`), content.json);
  }
  if (sent.length > 0) parts.push(encode("}"));
  if (data.trim() !== "") parts.push(encode(`,"data":${data.trim()}`));
  parts.push(encode(`,"output":${outputJson(output)}}`));
  return joinBytes(parts);
}

export function requestBody(draft: Draft): string {
  return new TextDecoder().decode(requestBytes(draft));
}

/** As in the command line, the schema of the data is sent only if the template names it. */
export function listSentFiles({ source, files }: Draft): readonly DraftFile[] {
  return source.includes(SCHEMA_FILE) ? files : files.filter(({ key }) => key !== SCHEMA_FILE);
}

function encode(text: string): Uint8Array<ArrayBuffer> {
  return new TextEncoder().encode(text);
}

export function outputJson({ format, members }: DraftOutput): string {
  const options = Object.entries({ format: JSON.stringify(format), ...members });
  return `{${options.map(([name, value]) => `"${name}":${value}`).join(",")}}`;
}

export function draftTitle({ source }: Pick<Draft, "source">): string {
  const lines = scannedLines(source).map((line) => line.trim());
  const title = headingIn(lines) ?? lines.find((line) => line !== "") ?? "";
  return title.slice(0, MAX_TITLE_CODE_UNITS) || "Empty template";
}

/** The draft's file name, without an extension, or the words of its first heading. It needs no quotes in a shell. */
export function draftFileStem({ source, output }: Draft): string {
  const fileName = output.members.filename;
  const named = fileName === undefined ? "" : String(JSON.parse(fileName)).replace(/\.(?:pdf|png|svg|zip)$/i, "");
  const heading = headingIn(scannedLines(source)) ?? "";
  const words = named || heading.replace(/#[\w.-]+/g, "").slice(0, MAX_TITLE_CODE_UNITS);
  return /[\p{L}\p{N}]/u.test(words) ? suggestFileKey(words, []).replaceAll("/", "-").replace(/^-+/, "") : "draft";
}

/** Without comments, which may be open, and which nobody sees in the document. An address has its `//`. */
function scannedLines(source: string): string[] {
  const head = source.split("\n", MAX_SCANNED_LINES).join("\n");
  return head.replace(/\/\*[\s\S]*?(?:\*\/|$)|(?<!:)\/\/.*/g, "").split("\n");
}

function headingIn(lines: readonly string[]): string | null {
  return lines.find((line) => /^\s*=+ /.test(line))?.replace(/^\s*=+ /, "") ?? null;
}

const MAX_SCANNED_LINES = 500;
const MAX_TITLE_CODE_UNITS = 60;
