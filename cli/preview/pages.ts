/**
 * The pages of a project as the preview shows them, whatever format the check is about.
 */
import type { Output } from "../../rules/output-options.ts";
import { compileLocally, type LocalSettings } from "../local/compile.ts";
import type { Project } from "../project/project.ts";
import type { DataText } from "../project/request.ts";

/** They are kept in memory. Whoever writes page 201 looks at the document itself. */
const MAX_PAGES = 200;
const PAGES: Output = { format: "svg", filename: null, page: null, pages: `1-${MAX_PAGES}`, archive: "zip" };

/** Null if the document does not compile. @throws CommandError when Typst does not run */
export async function previewPages(
  project: Project,
  data: DataText | null,
  local: LocalSettings,
  signal: AbortSignal,
): Promise<readonly Buffer[] | null> {
  const limits = { ...local.limits, max_output_files: MAX_PAGES };
  const { ok, pages } = await compileLocally(project, data, PAGES, { ...local, limits }, signal);
  return ok ? pages : null;
}
