/**
 * The Typst command line: the only place that builds one.
 *
 * No text of the caller's reaches it but numbers, enum values and page ranges that the rules have judged.
 */
import { join } from "node:path";
import type { Output } from "../rules/output-options.ts";
import { countDistinctPages, type PageRange, parsePageSelection } from "../rules/page-selection.ts";
import type { SandboxView } from "./sandbox/sandbox.ts";
import type { BackendSettings } from "./settings.ts";

const STANDARD_STREAM = "-";

/**
 * The arguments that render `output` of the project in view, reading the program text from standard input: to standard
 * output, or to a file a page where the view has a directory for them.
 */
export function renderArguments(settings: BackendSettings, view: SandboxView, output: Output): string[] {
  // {p} is the physical page number. Typst replaces it anywhere in the path, and nothing else of the path is a brace.
  const path = view.outputDirectory === null ? STANDARD_STREAM : join(view.outputDirectory, "{p}");
  return compileArguments(settings, view, path, output.format, outputArguments(settings, output));
}

/**
 * The arguments that tell whether a page selection matches any page of the document: it prints nothing where none does.
 * Pages are numbered without gaps, so a selection matches exactly when its lowest page exists.
 */
export function selectionProbeArguments(settings: BackendSettings, view: SandboxView, pages: string): string[] {
  const lowest = Math.min(...parsePageSelection(pages).map(({ first }) => first));
  const pageArguments = ["--pages", String(lowest)];
  return compileArguments(settings, view, STANDARD_STREAM, "svg", pageArguments);
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
  // A number beyond 2^53 is written out in full; Typst refuses one that is beyond its own range.
  return output.page === null ? [] : ["--pages", BigInt(output.page).toString()];
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
