/**
 * What the command can add to a problem: the sizes of the files, and better names for them.
 */
import type { ServiceProblem } from "../../typescript/client.ts";
import { nameDetails } from "./file-names.ts";
import type { Project } from "./project.ts";
import { type SentProject, sizeDetails } from "./request-size.ts";

const MAX_NAMED = 5;

export function problemDetails(problem: ServiceProblem, sent: SentProject): string[] {
  const { project } = sent;
  const leftOut = problem.code === "template_compile_failed" ? leftOutDetails(project) : [];
  return [...nameDetails(problem, project.files), ...sizeDetails(problem, sent), ...leftOut];
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
