/**
 * The command line of Typst, which only this file builds, and its environment. All that it takes from a request are
 * numbers, enum values and page ranges that the rules have validated.
 */
import { join } from "node:path";
import type { Limits } from "../rules/limits.ts";
import type { Output } from "../rules/output-options.ts";
import { REQUEST_PACKAGES } from "../rules/package-spec.ts";
import { countDistinctPages, type PageRange, parsePageSelection } from "../rules/page-selection.ts";
import { fontFolder } from "./file-layout.ts";

const STANDARD_STREAM = "-";

export interface CommandLineSettings {
  readonly creationTimestampSeconds: number | null;
  readonly limits: Limits;
}

export interface TypstPaths {
  readonly root: string;
  /** The directory for output files; null if the output goes to standard output. */
  readonly outputDirectory: string | null;
  readonly fontPaths: readonly string[];
  /** The operator's packages. Those of the request are in its project root. */
  readonly packagePath: string;
}

export interface RenderCommand {
  readonly output: Output;
  /** How many of the request's files are fonts. */
  readonly fontCount: number;
}

/**
 * `human` quotes the lines around each error: for 9 KB of brackets that do not match, it takes Typst 12 s and 2.4 MB,
 * `short` 0.04 s and 15 KB. Only the author of a template reads them.
 */
export type DiagnosticFormat = "human" | "short";

interface RenderOptions {
  readonly threads?: number;
  readonly diagnosticFormat?: DiagnosticFormat;
}

export function renderArguments(
  settings: CommandLineSettings,
  paths: TypstPaths,
  command: RenderCommand,
  { threads = 1, diagnosticFormat = "short" }: RenderOptions = {},
): string[] {
  const { output } = command;
  // Typst replaces {p} by the physical page number, anywhere in the path. The rest of the path has no braces.
  const path = paths.outputDirectory === null ? STANDARD_STREAM : join(paths.outputDirectory, "{p}");
  const diagnosticArguments = ["--diagnostic-format", diagnosticFormat];
  const formatArguments = ["--format", output.format, ...outputArguments(settings, output), ...diagnosticArguments];
  return compileArguments(settings, addRequestFonts(paths, command), formatArguments, path, threads);
}

/** Shows whether the document has a page, counted from one: Typst writes that page, or nothing. */
export function onePageArguments(
  settings: CommandLineSettings,
  paths: TypstPaths,
  command: RenderCommand,
  page: number,
): string[] {
  const formatArguments = ["--format", "svg", "--pages", String(page), "--diagnostic-format", "short"];
  return compileArguments(settings, addRequestFonts(paths, command), formatArguments, STANDARD_STREAM);
}

/** Pages are numbered without gaps, so a selection matches a page exactly when its lowest one exists. */
export function lowestPage(pages: string): number {
  return Math.min(...parsePageSelection(pages).map(({ first }) => first));
}

/**
 * Of several fonts that fit equally well, Typst takes the first: its own, then the operator's, then the request's. Their
 * folders are relative to the root, which is the working directory in every sandbox.
 */
function addRequestFonts(paths: TypstPaths, { fontCount }: RenderCommand): TypstPaths {
  const ofRequest = Array.from({ length: fontCount }, (_, index) => fontFolder(index));
  return { ...paths, fontPaths: [...paths.fontPaths, ...ofRequest] };
}

export function fontListArguments(paths: TypstPaths): string[] {
  return ["fonts", "--variants", ...fontArguments(paths)];
}

/** Never the fonts of the host. */
function fontArguments({ fontPaths }: TypstPaths): string[] {
  return ["--ignore-system-fonts", ...fontPaths.flatMap((fontPath) => ["--font-path", fontPath])];
}

export function compileArguments(
  { creationTimestampSeconds }: CommandLineSettings,
  paths: TypstPaths,
  formatArguments: readonly string[],
  outputPath: string,
  threads = 1,
): string[] {
  return [
    "compile",
    ...formatArguments,
    ...["--root", paths.root],
    ...["--jobs", String(threads)],
    // Typst looks here first, so a package of the request has priority (docs/decisions/README.md#what-requests-bring).
    ...["--package-path", REQUEST_PACKAGES],
    ...["--package-cache-path", paths.packagePath],
    ...fontArguments(paths),
    ...(creationTimestampSeconds === null ? [] : ["--creation-timestamp", String(creationTimestampSeconds)]),
    STANDARD_STREAM,
    outputPath,
  ];
}

/**
 * Every user who sees the process in /proc can read these, and Typst 0.15 takes them in no other way. So they are
 * numbers and words from our own lists, and docs/operations.md says who can see them.
 */
function outputArguments(settings: CommandLineSettings, output: Output): string[] {
  if (output.format === "pdf") {
    const standards = [...(output.version === null ? [] : [output.version]), ...output.standards];
    return [
      ...(standards.length === 0 ? [] : ["--pdf-standard", standards.join(",")]),
      // A selection of pages cannot be tagged. Without this option Typst would warn about it.
      ...(output.pages === null ? [] : ["--no-pdf-tags", "--pages", output.pages]),
    ];
  }
  const resolution = output.format === "png" ? ["--ppi", String(output.ppi)] : [];
  if (output.archive !== null) {
    const ranges = output.pages === null ? [{ first: 1, last: null }] : parsePageSelection(output.pages);
    return [...resolution, "--pages", boundSelection(ranges, settings.limits.max_output_files)];
  }
  // No document has this many pages. Typst reports a larger number as a wrong argument, not as a missing page.
  const page = output.page === null ? [] : ["--pages", String(Math.min(output.page, Number.MAX_SAFE_INTEGER))];
  return [...resolution, ...page];
}

/**
 * The open range is closed, so that Typst writes at most one page over the limit and never thousands of files. Of
 * several open ranges, the lowest contains the others.
 */
function boundSelection(ranges: readonly PageRange[], maxPages: number): string {
  const openFirst = Math.min(...ranges.filter(({ last }) => last === null).map(({ first }) => first));
  const closed = ranges.flatMap(({ first, last }) =>
    last === null || first >= openFirst ? [] : [{ first, last: Math.min(last, openFirst - 1) }],
  );
  const parts = closed.map(({ first, last }) => `${first}-${last}`);
  if (Number.isFinite(openFirst)) parts.push(`${openFirst}-${openFirst + maxPages - countDistinctPages(closed)}`);
  return parts.join(",");
}

/** All of it: variables such as TYPST_FONT_PATHS or SOURCE_DATE_EPOCH change what Typst does, so none are inherited. */
export const RENDER_ENVIRONMENT = { TZ: "UTC" } as const;

export function proxyVariables(proxyUrl: string): Readonly<Record<string, string>> {
  return { HTTP_PROXY: proxyUrl, HTTPS_PROXY: proxyUrl, ALL_PROXY: proxyUrl };
}

/** Without a sandbox, only a proxy that refuses every connection prevents Typst from fetching packages. */
export const UNCONFINED_ENVIRONMENT = { ...RENDER_ENVIRONMENT, ...proxyVariables("http://127.0.0.1:9") } as const;
