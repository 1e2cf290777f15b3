/**
 * Lists all file names that the rules for keys reject, each with a better one.
 */
import { quote } from "../../../rules/quote.ts";
import type { ServiceProblem } from "../../typescript/client.ts";
import { suggestFileKeys } from "../../typescript/file-key-suggestion.ts";

/** Further names are only counted. */
const MAX_LISTED = 50;

/** By the files of a project: with `--each`, all rows have the same. */
const known = new WeakMap<readonly NamedFile[], ReadonlyMap<string, string>>();

interface NamedFile {
  readonly key: string;
}

export function nameDetails(problem: ServiceProblem, files: readonly NamedFile[]): string[] {
  const isOfNames =
    problem.code === "invalid_template_path" ||
    (problem.code === "invalid_file_data" && "rule" in problem.context && problem.context.rule !== "too_many_keys");
  if (!isOfNames) return [];
  const names = known.get(files) ?? suggestFileKeys(files.map(({ key }) => key));
  known.set(files, names);
  const lines = [...names].slice(0, MAX_LISTED).map(([key, better]) => `${quote(key)}: rename it to ${better}`);
  return names.size > MAX_LISTED ? [...lines, `… and ${names.size - MAX_LISTED} more.`] : lines;
}
