/** What is told of a template that Typst has refused: the service says only that it did. */
import { JsonCursor } from "../../../rules/json/cursor.ts";
import { DEFAULT_OUTPUT } from "../../../rules/output-options.ts";
import { readOutput } from "../../../rules/output-reader.ts";
import { ValidationErrorList } from "../../../rules/validation-errors.ts";
import { listCompileFailureCauses } from "../../typescript/compile-failure-causes.ts";
import { type Draft, draftFileStem, outputJson } from "../drafts/draft.ts";

export interface CompileFailure {
  /** The name of the folder on the reader's machine. Its saved options are those of the draft. */
  readonly folder: string;
  /** Sentences, the likeliest cause first; empty if the mistake is known. */
  readonly causes: readonly string[];
}

export function explainCompileFailure(draft: Draft): CompileFailure {
  const json = new TextEncoder().encode(outputJson(draft.output));
  const output = readOutput(new JsonCursor(json), new ValidationErrorList()) ?? DEFAULT_OUTPUT;
  return { folder: draftFileStem(draft), causes: listCompileFailureCauses(output) };
}
