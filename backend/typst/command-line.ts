/**
 * The Typst command line: the only place that builds one.
 *
 * No text of the caller's reaches it but numbers, enum values and page ranges that the rules have validated.
 */
import { join } from "node:path";
import type { Output } from "../../rules/output-options.ts";
import { countDistinctPages, type PageRange, parsePageSelection } from "../../rules/page-selection.ts";
import type { SandboxView } from "../sandbox/sandbox.ts";
import type { BackendSettings } from "../settings.ts";

const STANDARD_STREAM = "-";

/**
 * The project as a folder of fonts: it is the working directory in every sandbox. Its path would not do where it holds a
 * colon, at which Typst splits the value of `--font-path`.
 */
const PROJECT_FOLDER = ".";

/** All of a request that its command lines depend on. */
export interface RenderCommand {
  readonly output: Output;
  /** Whether there are fonts among the files of the project. */
  readonly bringsFonts: boolean;
}

/**
 * The arguments that render the output of the project in view, reading the program text from standard input: to standard
 * output, or to a file a page where the view has a directory for them.
 */
export function renderArguments(settings: BackendSettings, view: SandboxView, command: RenderCommand): string[] {
  const { output } = command;
  // {p} is the physical page number. Typst replaces it anywhere in the path, and nothing else of the path is a brace.
  const path = view.outputDirectory === null ? STANDARD_STREAM : join(view.outputDirectory, "{p}");
  return compileArguments(settings, fontView(view, command), path, output.format, outputArguments(settings, output));
}

/**
 * The arguments that tell whether the document has a page: it is printed, or nothing is.
 *
 * @param page from one on.
 */
export function pageProbeArguments(
  settings: BackendSettings,
  view: SandboxView,
  command: RenderCommand,
  page: number,
): string[] {
  return compileArguments(settings, fontView(view, command), STANDARD_STREAM, "svg", ["--pages", String(page)]);
}

/** Pages are numbered without gaps, so a selection matches a page exactly when its lowest one exists. */
export function lowestPage(pages: string): number {
  return Math.min(...parsePageSelection(pages).map(({ first }) => first));
}

/**
 * The view with the project's own fonts, if there are any. Of fonts of one family that fit equally well Typst takes the
 * first that it found: its own, the operator's, and then these.
 */
function fontView(view: SandboxView, { bringsFonts }: RenderCommand): SandboxView {
  return bringsFonts ? { ...view, fontPaths: [...view.fontPaths, PROJECT_FOLDER] } : view;
}

/** Whether the output is a ZIP of pages, which Typst writes as files. */
export function isArchive(output: Output): boolean {
  return output.format !== "pdf" && output.archive !== null;
}

/** The arguments of one compile: what is common to all of them, then what the format asks for. */
export function compileArguments(
  settings: BackendSettings,
  view: SandboxView,
  outputPath: string,
  format: Output["format"],
  formatArguments: readonly string[],
): string[] {
  return [
    "compile",
    ...["--format", format],
    ...["--root", view.root],
    ...["--jobs", String(settings.threadsPerRender)],
    ...["--package-path", view.packagePath],
    ...["--package-cache-path", view.packagePath],
    "--ignore-system-fonts",
    ...view.fontPaths.flatMap((fontPath) => ["--font-path", fontPath]),
    ...timestampArguments(settings),
    ...formatArguments,
    STANDARD_STREAM,
    outputPath,
  ];
}

function timestampArguments({ creationTimestampSeconds }: BackendSettings): string[] {
  return creationTimestampSeconds === null ? [] : ["--creation-timestamp", String(creationTimestampSeconds)];
}

/**
 * What the format asks for. A command line can be read by every user who sees the process in /proc, and here it holds a
 * choice of the caller's: pages, resolution, standards. Typst 0.15 takes them nowhere else: neither its environment nor a
 * file names pages. So nothing but numbers and words of our own list goes there, and docs/operations.md says who sees it.
 */
function outputArguments(settings: BackendSettings, output: Output): string[] {
  switch (output.format) {
    case "pdf":
      return [
        ...standardArguments([...(output.version === null ? [] : [output.version]), ...output.standards]),
        // A selection of pages cannot be tagged; saying so keeps Typst from warning about it.
        ...(output.pages === null ? [] : ["--no-pdf-tags", "--pages", output.pages]),
      ];
    case "png":
      return ["--ppi", String(output.ppi), ...imagePageArguments(settings, output)];
    case "svg":
      return imagePageArguments(settings, output);
  }
}

function standardArguments(standards: readonly string[]): string[] {
  return standards.length === 0 ? [] : ["--pdf-standard", standards.join(",")];
}

function imagePageArguments(settings: BackendSettings, output: Exclude<Output, { format: "pdf" }>): string[] {
  if (output.archive !== null) {
    const ranges = output.pages === null ? [{ first: 1, last: null }] : parsePageSelection(output.pages);
    return ["--pages", boundedSelection(ranges, settings.limits.max_output_files)];
  }
  // No document has so many pages; larger numbers would be beyond Typst's own range, which it does not say of a page.
  return output.page === null ? [] : ["--pages", String(Math.min(output.page, Number.MAX_SAFE_INTEGER))];
}

/**
 * The selection with its open end closed so that at most one page over the limit is made: enough to know that there are
 * too many, and never thousands of files. Of several open ranges the lowest holds all the others.
 */
function boundedSelection(ranges: readonly PageRange[], maxPages: number): string {
  const openFirst = Math.min(...ranges.filter(({ last }) => last === null).map(({ first }) => first));
  const closed = ranges.flatMap(({ first, last }) =>
    last === null || first >= openFirst ? [] : [{ first, last: Math.min(last, openFirst - 1) }],
  );
  const parts = closed.map(({ first, last }) => `${first}-${last}`);
  if (Number.isFinite(openFirst)) parts.push(`${openFirst}-${openFirst + maxPages - countDistinctPages(closed)}`);
  return parts.join(",");
}
