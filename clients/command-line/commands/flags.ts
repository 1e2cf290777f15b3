/** The options of `check` and `render`, with and without `--each`. */
import { type Command, InvalidArgumentError, Option } from "@commander-js/extra-typings";
import {
  ARCHIVES,
  MIN_PAGE,
  OUTPUT_FORMATS,
  PDF_STANDARDS,
  PDF_VERSIONS,
  type PdfStandard,
  PPI,
} from "../../../rules/output-options.ts";
import { E_INVOICE_OPTION, PROFILE_OPTION } from "../e-invoice.ts";
import { CommandError } from "../exit-codes.ts";
import * as options from "../options.ts";
import { formatOf } from "../output-options.ts";
import { commandToCopy } from "../terminal.ts";

export type CheckFlags = ReturnType<ReturnType<typeof defineCheckCommand>["opts"]>;
export type RenderFlags = ReturnType<ReturnType<typeof defineRenderCommand>["opts"]>;

/** With `--each`: the most requests at the same time. */
export const DEFAULT_JOBS = 8;
const MAX_TIMEOUT_SECONDS = 3600;

export function defineCheckCommand(program: Command) {
  return defineProjectCommand(program, "check", "where the document goes; by default it is discarded")
    .summary("compile on this machine as the service would, and show what Typst says")
    .description(
      "Compiles a project on this machine with the service's Typst, under its prelude, options and fonts, and shows Typst's own diagnostics with the lines of your files. Nothing is sent. There is no sandbox: check only what you would open.",
    )
    .option("-w, --watch", "check again whenever a file of the project changes")
    .option("--open", "open the document, or its first page, in the system's viewer")
    .addOption(options.TYPST_OPTION)
    .addOption(options.FONT_PATH_OPTION)
    .addOption(options.PACKAGE_PATH_OPTION);
}

export function defineRenderCommand(program: Command) {
  const outputHelp = "where to write the document; - is standard output; by default a file named after the source";
  return defineProjectCommand(program, "render", outputHelp)
    .summary("render a Typst source, or a folder with a main.typ")
    .description(
      "Sends a Typst source with the files that it reads to the service and writes the document. In a folder, main.typ is the source and data.json is the data.",
    )
    .option("--filename <name>", "the file name that the service suggests for the download")
    .addOption(E_INVOICE_OPTION)
    .addOption(PROFILE_OPTION)
    .option(
      "--jobs <number>",
      `with --each: requests at the same time; by default ${DEFAULT_JOBS}`,
      options.wholeNumber(1, 64),
    )
    .option("--overwrite", "with --each: render documents again that already exist")
    .option(
      "--timeout <seconds>",
      "how long each document may take, tries included; with --each, each try",
      options.secondsUpTo(MAX_TIMEOUT_SECONDS),
    )
    .addOption(options.FONT_PATH_OPTION_OF_RENDER)
    .option("--dry-run", "list what would be sent, and send nothing")
    .addOption(options.VERBOSE_OPTION)
    .addOption(options.TOKEN_FILE_OPTION);
}

function defineProjectCommand(program: Command, name: "render" | "check", outputHelp: string) {
  return program
    .command(name)
    .argument("<source>", "a Typst source, or a folder")
    .argument("[output]", "the same as --output, as for typst compile")
    .option("-o, --output <file>", outputHelp)
    .option("-d, --data <file>", "JSON that the source reads as `data`; - is standard input")
    .option(
      "--each <file>",
      "JSON Lines, a JSON array or CSV: each row is the data of one document; - is standard input",
    )
    .option("--line <number>", "with --each: only this row", options.wholeNumber(1))
    .addOption(options.DELIMITER_OPTION)
    .addOption(options.FILES_OPTION)
    .addOption(options.ROOT_OPTION)
    .addOption(
      new Option("--ignore-system-fonts", "as always: it is taken for those who know typst compile").hideHelp(),
    )
    .addOption(options.INPUT_OPTION)
    .addOption(options.DATA_AS_INPUT_OPTION)
    .addOption(new Option("--format <format>", "by default the extension of the output").choices(OUTPUT_FORMATS))
    .addOption(options.PAGES_OPTION)
    .option("--page <number>", "the page of a PNG or SVG", options.wholeNumber(MIN_PAGE))
    .option(
      "--ppi <number>",
      `resolution of a PNG; by default ${PPI.default_ppi}`,
      options.wholeNumber(PPI.min_ppi, PPI.max_ppi),
    )
    .option("--archive", `a ${ARCHIVES.join()} with an image of each page`)
    .option(
      "--standards <names>",
      `standards of a PDF, separated by commas: ${PDF_STANDARDS.join(", ")}`,
      readStandards,
    )
    .addOption(new Option("--pdf-version <version>", "by default 1.7").choices(PDF_VERSIONS))
    .option(
      "--strict",
      "fail if a font is missing, Typst leaves out text of an SVG, or the template does not use --data",
    )
    .addOption(options.URL_OPTION)
    .addOption(options.JSON_OPTION);
}

/** `typst compile` takes the output as its second argument. @throws CommandError when the option names it as well */
export function withOutput<Flags extends { readonly output?: string | undefined }>(
  flags: Flags,
  output: string | undefined,
): Flags {
  if (output === undefined) return flags;
  if (flags.output !== undefined) throw new CommandError(`Both ${output} and --output name the output: leave one out.`);
  return { ...flags, output };
}

function readStandards(value: string): PdfStandard[] {
  return value.split(",").map((name) => {
    const known = PDF_STANDARDS.find((standard) => standard === name);
    if (known !== undefined) return known;
    throw new InvalidArgumentError(`${name} is not one of ${PDF_STANDARDS.join(", ")}.`);
  });
}

/** The command that shows the author of a template why a `render` failed, which the service never passes on. */
export function checkCommand(source: string, flags: RenderFlags): string {
  const { data, files, root, each, delimiter, line, page, pages, ppi, archive, standards, pdfVersion } = flags;
  const input = [...(flags.input ?? [])].map(([key, value]) => `${key}=${value}`);
  // What is asked for may be what cannot be made: a page that the document does not have, or a standard that it breaks.
  const format = formatOf(flags) === "pdf" ? undefined : formatOf(flags);
  const output = { format, page, pages, ppi, archive, standards: standards?.join(","), "pdf-version": pdfVersion };
  const named = Object.entries({
    data,
    files,
    root,
    input,
    "data-as-input": flags.dataAsInput,
    each,
    delimiter,
    line,
    ...output,
  }).flatMap(([name, value]) => {
    if (value === undefined) return [];
    return value === true ? [`--${name}`] : [value].flat().flatMap((one) => [`--${name}`, String(one)]);
  });
  return commandToCopy(["check", source, ...named]);
}
