/** What is told of a template that Typst has refused: the service says only that it did. */
import { JsonCursor } from "../../../rules/json/cursor.ts";
import { DEFAULT_OUTPUT } from "../../../rules/output-options.ts";
import { readOutput } from "../../../rules/output-reader.ts";
import { ValidationErrorList } from "../../../rules/validation-errors.ts";
import { listCompileFailureCauses } from "../../typescript/compile-failure-causes.ts";
import { type Draft, draftFileStem, outputJson } from "../drafts/draft.ts";

export interface CompileFailure {
  readonly folder: string;
  /** Compiles that folder on the reader's machine as the service does, and shows Typst's messages. */
  readonly command: string;
  /** Sentences, the likeliest cause first; empty if the mistake is known. */
  readonly causes: readonly string[];
}

/** The options of the command line for the members of `output`. The name of the file changes nothing in it. */
const OPTION_NAMES = [
  ["version", "--pdf-version"],
  ["standards", "--standards"],
  ["pages", "--pages"],
  ["page", "--page"],
  ["ppi", "--ppi"],
] as const;

/** @param draft one that the service has accepted, so that no option needs quotes in a shell */
export function explainCompileFailure(draft: Draft): CompileFailure {
  const json = new TextEncoder().encode(outputJson(draft.output));
  const output = readOutput(new JsonCursor(json), new ValidationErrorList()) ?? DEFAULT_OUTPUT;
  const folder = draftFileStem(draft);
  const command = ["document-rendering check", folder, ...listOptions(draft)].join(" ");
  return { folder, command, causes: listCompileFailureCauses(output) };
}

function listOptions({ output: { format, members } }: Draft): string[] {
  return [
    `--format ${format}`,
    ...OPTION_NAMES.flatMap(([name, option]) => {
      const json = members[name];
      return json === undefined ? [] : [`${option} ${[JSON.parse(json)].flat().join(",")}`];
    }),
    ...(members.archive === undefined ? [] : ["--archive"]),
  ];
}
