/**
 * What the command knows about a problem beside what the problem says: the sizes of the files, and better names for them.
 */
import type { ServiceProblem } from "../../client/client.ts";
import type { RenderRequest } from "../../client/render-request.ts";
import { nameDetails } from "./file-names.ts";
import type { Project } from "./project.ts";
import type { DataText } from "./request.ts";
import { sizeDetails } from "./request-size.ts";

/** One line each. */
export function problemDetails(
  problem: ServiceProblem,
  project: Project,
  data: DataText | null,
  request: RenderRequest,
): string[] {
  const keys = project.files.map(({ key }) => key);
  return [...nameDetails(problem, keys), ...sizeDetails(problem, project, data, request)];
}
