/** The options that several commands share. */
import { InvalidArgumentError, Option } from "@commander-js/extra-typings";
import { addInput } from "./project/inputs.ts";
import { DEFAULT_URL } from "./service-location.ts";

export const URL_OPTION = new Option("--url <url>", `the service; by default $SERVICE_URL, or ${DEFAULT_URL}`);
export const TOKEN_FILE_OPTION = new Option(
  "--token-file <file>",
  "a file that holds the API token; by default $SERVICE_API_TOKEN, or the token of the checkout for a service on this machine",
);
export const VERBOSE_OPTION = new Option(
  "--verbose",
  "print the version of this program and of Node, the service, the proxy, and where the token came from",
);
export const JSON_OPTION = new Option("--json", "report in JSON, one object per line");
export const FILES_OPTION = new Option(
  "-f, --files <glob>",
  "more files: a folder or a glob, from the folder of the source; may be repeated",
).argParser(addValue);
export const ROOT_OPTION = new Option(
  "--root <folder>",
  "the folder that the paths of the sources may reach, as for Typst; by default that of the source, or one above with typst.toml, .git or .renderignore if a source reads files there",
);
export const INPUT_OPTION = new Option(
  "--input <key=value>",
  "a value that the template reads as sys.inputs, as for Typst; may be repeated",
).argParser(addInput);
export const DATA_AS_INPUT_OPTION = new Option(
  "--data-as-input <key>",
  "the data, also of each row, is the input of this key, too: its JSON text",
);
export const DELIMITER_OPTION = new Option(
  "--delimiter <character>",
  "what separates the values of CSV, such as ';' or tab; by default what fits all rows",
).argParser(readDelimiter);
export const PAGES_OPTION = new Option("--pages <selection>", "pages of a PDF or an archive, such as 1-3,5,8-");
export const TYPST_OPTION = new Option("--typst <file>", "the Typst to compile with; by default it is searched for");
export const FONT_PATH_OPTION = new Option(
  "--font-path <folder>",
  "fonts that the service has besides Typst's own; may be repeated",
).argParser(addValue);
/** As for `typst compile`. */
export const FONT_PATH_OPTION_OF_RENDER = new Option(
  "--font-path <folder>",
  "a folder of fonts below the root, where they are found in any case; may be repeated",
).argParser(addValue);
export const PACKAGE_PATH_OPTION = new Option("--package-path <folder>", "Typst packages that the service has");

function readDelimiter(value: string): string {
  if (/^(?:tab|\\t)$/i.test(value)) return "\t";
  if ([...value].length === 1 && !/["\r\n\p{L}\p{N}]/u.test(value)) return value;
  throw new InvalidArgumentError("It must be tab, or one character that is no letter, digit or quote.");
}

function addValue(value: string, previous: readonly string[] | undefined): readonly string[] {
  return [...(previous ?? []), value];
}

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
