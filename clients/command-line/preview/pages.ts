/**
 * The pages of a project for the preview: always SVG, whatever format the check compiles to.
 */
import type { Output } from "../../../rules/output-options.ts";
import { compileLocally, type LocalSettings } from "../local/compile.ts";
import type { Project } from "../project/project.ts";
import type { DataText } from "../project/request.ts";

/** The pages are kept in memory, so the preview leaves out those beyond this number. */
const MAX_PAGES = 200;
const PAGES: Output = { format: "svg", filename: null, page: null, pages: `1-${MAX_PAGES}`, archive: "zip" };

/** Null if the document does not compile. @throws CommandError when Typst cannot be started */
export async function previewPages(
  project: Project,
  data: DataText | null,
  local: LocalSettings,
  signal: AbortSignal,
): Promise<readonly Buffer[] | null> {
  const limits = { ...local.limits, max_output_files: MAX_PAGES };
  const settings = { ...local, limits };
  const { ok, pages } = await compileLocally({ project, data, output: PAGES, local: settings }, signal);
  return ok ? pages : null;
}
