/** What the command can add to a problem: the sizes of the files, and better names for them. */
import { quote } from "../../../rules/quote.ts";
import type { ServiceProblem } from "../../typescript/client.ts";
import { suggestFileKeys } from "../../typescript/file-key-suggestion.ts";
import type { Project } from "./project.ts";
import { type SentProject, sizeDetails } from "./request-size.ts";

const MAX_NAMED = 5;

export function problemDetails(problem: ServiceProblem, sent: SentProject): string[] {
  const { project } = sent;
  const leftOut = problem.code === "template_compile_failed" ? leftOutDetails(project) : [];
  return [...nameDetails(problem, project), ...sizeDetails(problem, sent), ...leftOut];
}

/** A reminder of files that were left out as outputs, because a template may read them by a computed path. */
export function leftOutDetails({ leftOut }: Project): string[] {
  if (leftOut.length === 0) return [];
  const more = leftOut.length > MAX_NAMED ? ` and ${leftOut.length - MAX_NAMED} more` : "";
  const names = leftOut.slice(0, MAX_NAMED).join(", ");
  return [
    `Left out, because render or check wrote it: ${names}${more}. If the template reads it, name it with --files.`,
  ];
}

/** Further names are only counted. */
const MAX_LISTED = 50;

/** All file names that the rules for keys reject, each with a better one. */
function nameDetails(problem: ServiceProblem, { files }: Project): string[] {
  const isOfNames =
    problem.code === "invalid_template_path" ||
    (problem.code === "invalid_file_data" && "rule" in problem.context && problem.context.rule !== "too_many_keys");
  if (!isOfNames) return [];
  const names = suggestFileKeys(files.map(({ key }) => key));
  const lines = [...names].slice(0, MAX_LISTED).map(([key, better]) => `${quote(key)}: rename it to ${better}`);
  return names.size > MAX_LISTED ? [...lines, `… and ${names.size - MAX_LISTED} more.`] : lines;
}
