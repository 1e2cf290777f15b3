/** The options that several commands share, each defined once. */
import { InvalidArgumentError, Option } from "@commander-js/extra-typings";
import {
  ARCHIVES,
  MIN_PAGE,
  OUTPUT_FORMATS,
  PDF_STANDARDS,
  PDF_VERSIONS,
  type PdfStandard,
  PPI,
} from "../../rules/output-options.ts";
import { DEFAULT_URL } from "./service-location.ts";

export const URL_OPTION = new Option("--url <url>", `the service; by default $SERVICE_URL, or ${DEFAULT_URL}`);
export const TOKEN_FILE_OPTION = new Option(
  "--token-file <file>",
  "a file that holds the API token; by default $SERVICE_API_TOKEN, or the token of the checkout for a service on this machine",
);
export const VERBOSE_OPTION = new Option(
  "--verbose",
  "for each request to the service, print the attempt, its id and the servers on its way, and where the token came from",
);
export const JSON_OPTION = new Option("--json", "report in JSON, one object per line");

export const DATA_OPTION = new Option("-d, --data <file>", "JSON that the source reads as `data`; - is standard input");
export const EACH_OPTION = new Option(
  "--each <file>",
  "JSON Lines, a JSON array or CSV: each row is the data of one document; - is standard input",
);
export const LINE_OPTION = new Option("--line <number>", "with --each: only this row").argParser(wholeNumber(1));
export const FILES_OPTION = new Option(
  "-f, --files <glob>",
  "more files: a folder or a glob below the folder of the source; may be repeated",
).argParser(addValue);

export const FORMAT_OPTION = new Option("--format <format>", "by default the extension of the output").choices(
  OUTPUT_FORMATS,
);
export const PAGES_OPTION = new Option("--pages <selection>", "pages of a PDF or an archive, such as 1-3,5,8-");
export const PAGE_OPTION = new Option("--page <number>", "the page of a PNG or SVG").argParser(wholeNumber(MIN_PAGE));
export const PPI_OPTION = new Option("--ppi <number>", `resolution of a PNG; by default ${PPI.default_ppi}`).argParser(
  wholeNumber(PPI.min_ppi, PPI.max_ppi),
);
export const ARCHIVE_OPTION = new Option("--archive", `a ${ARCHIVES.join()} with an image of each page`);
export const STANDARDS_OPTION = new Option(
  "--standards <names>",
  `standards of a PDF, separated by commas: ${PDF_STANDARDS.join(", ")}`,
).argParser((value: string) =>
  value.split(",").map((name) => {
    if (isPdfStandard(name)) return name;
    throw new InvalidArgumentError(`${name} is not one of ${PDF_STANDARDS.join(", ")}.`);
  }),
);
export const PDF_VERSION_OPTION = new Option("--pdf-version <version>", "by default 1.7").choices(PDF_VERSIONS);

export const TYPST_OPTION = new Option("--typst <file>", "the Typst to compile with; by default it is searched for");
export const FONT_PATH_OPTION = new Option(
  "--font-path <folder>",
  "fonts that the service has besides Typst's own; may be repeated",
).argParser(addValue);
export const PACKAGE_PATH_OPTION = new Option("--package-path <folder>", "Typst packages that the service has");

export const STRICT_OPTION = new Option("--strict", "fail if a font is missing, which is a warning otherwise");

function addValue(value: string, previous: readonly string[] | undefined): readonly string[] {
  return [...(previous ?? []), value];
}

/** Reads a number of seconds, which may be a fraction. */
export function secondsUpTo(max: number): (value: string) => number {
  return (value) => {
    const seconds = Number(value);
    if (seconds > 0 && seconds <= max) return seconds;
    throw new InvalidArgumentError(`It must be a number of seconds, up to ${max}.`);
  };
}

export function wholeNumber(min: number, max = Number.MAX_SAFE_INTEGER): (value: string) => number {
  return (value) => {
    const number = /^[0-9]+$/.test(value) ? Number(value) : Number.NaN;
    if (number >= min && number <= max) return number;
    const range = max === Number.MAX_SAFE_INTEGER ? `from ${min}` : `from ${min} to ${max}`;
    throw new InvalidArgumentError(`It must be a whole number ${range}.`);
  };
}

function isPdfStandard(name: string): name is PdfStandard {
  return PDF_STANDARDS.some((standard) => standard === name);
}
