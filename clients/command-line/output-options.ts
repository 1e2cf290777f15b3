/** Turns the options into the `output` of a request. What concerns several fields is left to the service's rules. */
import { extname } from "node:path";
import {
  isOutputFormat,
  OUTPUT_FORMATS,
  type OutputFormat,
  type PdfStandard,
  type PdfVersion,
} from "../../rules/output-options.ts";
import type { OutputOptions, PdfStandards } from "../typescript/render-request.ts";
import { CommandError } from "./exit-codes.ts";

/** The name of an output file that means standard output. */
export const STANDARD_OUTPUT = "-";

export interface OutputFlags {
  readonly output?: string | undefined;
  readonly format?: OutputFormat | undefined;
  readonly page?: number | undefined;
  readonly pages?: string | undefined;
  readonly ppi?: number | undefined;
  readonly archive?: true | undefined;
  readonly standards?: readonly PdfStandard[] | undefined;
  readonly pdfVersion?: PdfVersion | undefined;
  readonly filename?: string | undefined;
}

/** @throws CommandError when neither `--format` nor the name says the format, or an option belongs to another one */
export function outputOf(flags: OutputFlags): OutputOptions {
  const format = formatOf(flags);
  const { filename, page, pages, ppi, pdfVersion: version } = flags;
  switch (format) {
    case "pdf":
      refuseOptions(flags, format, ["page", "ppi", "archive"]);
      return { format, filename, version, standards: standardsOf(flags), pages };
    case "png":
      refuseOptions(flags, format, ["standards", "pdfVersion"]);
      return { format, filename, page, pages, ppi, archive: archiveOf(flags) };
    case "svg":
      refuseOptions(flags, format, ["standards", "pdfVersion", "ppi"]);
      return { format, filename, page, pages, archive: archiveOf(flags) };
  }
}

export function extensionOf(output: OutputOptions): "pdf" | "png" | "svg" | "zip" {
  if ("archive" in output && output.archive === "zip") return "zip";
  return output.format ?? "pdf";
}

/** The format that is asked for, by option or by the extension of the place. @throws CommandError if it is none */
export function formatOf({ format, output }: OutputFlags): OutputFormat {
  const extension = placeExtension(output);
  if (format !== undefined) {
    if (isOutputFormat(extension) && extension !== format) {
      throw new CommandError(`--format ${format} does not match ${output}.`);
    }
    return format;
  }
  if (extension === "") return "pdf";
  if (isOutputFormat(extension)) return extension;
  if (extension === "zip") throw new CommandError("A ZIP holds pages as images: add --format png or --format svg.");
  throw new CommandError(`.${extension} is not an output format: add --format ${OUTPUT_FORMATS.join("|")}.`);
}

/** @throws CommandError if a list cannot be in a request */
function standardsOf({ standards = [] }: OutputFlags): PdfStandards | undefined {
  const [first, second, ...more] = standards;
  if (first === undefined) return undefined;
  if (second === undefined) return [first];
  if (more.length === 0 && first !== "ua-1" && second === "ua-1") return [first, second];
  if (more.length === 0 && first === "ua-1" && second !== "ua-1") return [first, second];
  throw new CommandError("--standards takes one PDF/A standard, ua-1, or both.");
}

function archiveOf({ archive, output }: OutputFlags): "zip" | undefined {
  return archive || placeExtension(output) === "zip" ? "zip" : undefined;
}

export function placeExtension(output: string | undefined): string {
  return output === undefined || output === STANDARD_OUTPUT ? "" : extname(output).slice(1).toLowerCase();
}

function refuseOptions(flags: OutputFlags, format: OutputFormat, names: readonly (keyof OutputFlags)[]): void {
  for (const name of names) {
    const option = name === "pdfVersion" ? "pdf-version" : name;
    if (flags[name] !== undefined) throw new CommandError(`--${option} does not apply to ${format}: leave it out.`);
  }
}
