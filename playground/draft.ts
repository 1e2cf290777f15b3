/**
 * What the page's fields hold, and the request body that it makes.
 *
 * The body is written as text, so that `data` reaches the service as it was typed and no number is rounded.
 */
import type { OutputField, OutputFormat } from "../rules/output-options.ts";
import type { Encoding } from "../rules/render-request.ts";

/** An entry of `files`. */
export interface DraftFile {
  readonly key: string;
  readonly encoding: Encoding;
  /** The content as a JSON string. It is made once, because the body is made anew after every keystroke. */
  readonly contentJson: string;
  /** The size in bytes after decoding. */
  readonly size: number;
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

/** The body of the request. `data` must be one JSON value, or it could close the object that it is put into. */
export function requestBody({ source, data, files, output }: Draft): string {
  const members = [`"source":${JSON.stringify(source)}`];
  if (files.length > 0) {
    const entries = files.map(
      ({ key, encoding, contentJson }) => `${JSON.stringify(key)}:{"encoding":"${encoding}","content":${contentJson}}`,
    );
    members.push(`"files":{${entries.join(",")}}`);
  }
  if (data.trim() !== "") members.push(`"data":${data.trim()}`);
  const options = Object.entries({ format: JSON.stringify(output.format), ...output.members });
  members.push(`"output":{${options.map(([name, value]) => `"${name}":${value}`).join(",")}}`);
  return `{${members.join(",")}}`;
}
