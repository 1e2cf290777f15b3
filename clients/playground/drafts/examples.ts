/** The examples of the project as drafts. Each is a file with a request body, made when the page is built. */
import { examplePath } from "../../../protocol/routes.ts";
import { DEFAULT_LIMITS } from "../../../rules/limits.ts";
import { isOutputFormat, OUTPUT_FIELDS } from "../../../rules/output-options.ts";
import { parseRenderRequest } from "../../../rules/render-request.ts";
import { SCHEMA_FILE } from "../../data-schema/schema-file.ts";
import { type Draft, type DraftOutput, draftFile, FileContent } from "./draft.ts";

export interface ExampleEntry {
  readonly body: string;
  readonly schema: string;
}

export async function fetchExample(name: string): Promise<ExampleEntry> {
  const answer = await fetch(examplePath(name).slice(1));
  if (!answer.ok) throw new Error(`the example answered ${answer.status}`);
  return JSON.parse(await answer.text());
}

/** An example as a draft: `data` as it was written, with all digits, and its schema, which is not sent. */
export function draftOfExample({ body: json, schema }: ExampleEntry): Draft {
  const body = new TextEncoder().encode(json);
  const parsed = parseRenderRequest(body, DEFAULT_LIMITS);
  if (!parsed.ok) throw new Error(`not a request: ${parsed.problem.detail}`);
  const { data, files } = parsed.request;
  const text = (start: number, end: number) => new TextDecoder().decode(body.subarray(start, end));
  const { source, output = {} }: { source: string; output?: object } = JSON.parse(json);
  const ownFiles = files.map(({ key, encoding, content }) => {
    const value: string = JSON.parse(`"${text(content.start, content.end)}"`);
    return draftFile(key, new FileContent(encoding === "text" ? value : Uint8Array.fromBase64(value)));
  });
  return {
    source,
    data: data === null ? "" : text(data.start, data.end),
    files: [...ownFiles, draftFile(SCHEMA_FILE, new FileContent(schema))],
    output: draftOutput(output),
  };
}

export function draftOutput(output: object): DraftOutput {
  const values: { readonly [name: string]: unknown } = { ...output };
  const names = OUTPUT_FIELDS.filter((name) => name !== "format" && values[name] !== undefined);
  const members = Object.fromEntries(names.map((name) => [name, JSON.stringify(values[name])]));
  return { format: isOutputFormat(values.format) ? values.format : "pdf", members };
}
