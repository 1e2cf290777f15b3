/** The examples of the project as drafts: each is a request body, made from `examples/` when the page is built. */
import { DEFAULT_LIMITS } from "../rules/limits.ts";
import { parseRenderRequest } from "../rules/render-request.ts";
import type { Draft, DraftFile } from "./draft.ts";
import type { ExampleEntry } from "./example-entry.ts";

/** What fills the page: `output` as its JSON value. */
export type LoadedDraft = Pick<Draft, "source" | "data" | "files"> & { readonly output: object };

/** All examples. */
export async function fetchExamples(): Promise<readonly ExampleEntry[]> {
  const answer = await fetch("/playground/examples.json");
  if (!answer.ok) throw new Error(`the examples answered ${answer.status}`);
  return answer.json();
}

/**
 * Takes a valid request body apart. `data` stays the text that it is: numbers keep their digits, and the editor shows it
 * as it was written.
 */
export function draftOfBody(json: string): LoadedDraft {
  const body = new TextEncoder().encode(json);
  const parsed = parseRenderRequest(body, DEFAULT_LIMITS);
  if (!parsed.ok) throw new Error(`not a request: ${parsed.problem.detail}`);
  const { data, files } = parsed.request;
  const text = (start: number, end: number) => new TextDecoder().decode(body.subarray(start, end));
  const { source, output = {} }: { source: string; output?: object } = JSON.parse(json);
  return {
    source,
    data: data === null ? "" : text(data.start, data.end),
    files: files.map(
      ({ key, encoding, content, size }): DraftFile => ({
        key,
        encoding,
        contentJson: `"${text(content.start, content.end)}"`,
        size,
      }),
    ),
    output,
  };
}
