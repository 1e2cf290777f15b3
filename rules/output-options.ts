/** The fields of `output` and their values, each by itself. Rules over several fields are in `output-rules.ts`. */
import * as v from "valibot";
import { PDF_STANDARDS, PDF_VERSIONS, type PdfStandard, type PdfVersion } from "./pdf-standards.ts";

export { PDF_STANDARDS, PDF_VERSIONS, type PdfStandard, type PdfVersion };

export const MAX_STANDARDS = 2;
export const MIN_PAGE = 1;
export const PPI = { min_ppi: 1, max_ppi: 300, default_ppi: 144 } as const;
export const ARCHIVES = ["zip"] as const;

/** A longer name is read only up to here: the file name is much shorter. */
export const MAX_FILENAME_CODE_UNITS = 4096;

const filename = v.optional(v.nullable(v.string()), null);
const pages = v.optional(v.nullable(v.string()), null);

const imageFields = {
  filename,
  page: v.optional(v.nullable(v.pipe(v.number(), v.integer(), v.minValue(MIN_PAGE))), null),
  pages,
  archive: v.optional(v.nullable(v.picklist(ARCHIVES)), null),
};

/** `readOutput` reports all unknown and misplaced fields at once: valibot's strict objects stop at the first. */
export const OUTPUT_SCHEMAS = {
  pdf: v.object({
    format: v.optional(v.literal("pdf"), "pdf"),
    filename,
    version: v.optional(v.nullable(v.picklist(PDF_VERSIONS)), null),
    // The length is checked first, so that the items of a list that is too long are not validated.
    standards: v.optional(
      v.pipe(v.array(v.unknown()), v.maxLength(MAX_STANDARDS), v.array(v.picklist(PDF_STANDARDS))),
      [],
    ),
    pages,
  }),
  png: v.object({
    format: v.literal("png"),
    ...imageFields,
    ppi: v.optional(v.pipe(v.number(), v.integer(), v.minValue(PPI.min_ppi), v.maxValue(PPI.max_ppi)), PPI.default_ppi),
  }),
  svg: v.object({ format: v.literal("svg"), ...imageFields }),
} as const;

export type OutputFormat = keyof typeof OUTPUT_SCHEMAS;

export const OUTPUT_FORMATS: readonly OutputFormat[] = Object.keys(OUTPUT_SCHEMAS).filter(isOutputFormat);
export const PDF_FORMATS = ["pdf"] as const satisfies readonly OutputFormat[];
export const IMAGE_FORMATS = ["png", "svg"] as const satisfies readonly OutputFormat[];

export type PdfOutput = OutputOf["pdf"];
/** An `output` whose every field is valid by itself, with the defaults filled in. */
export type Output = OutputOf[OutputFormat];

type OutputOf = { [Format in OutputFormat]: v.InferOutput<(typeof OUTPUT_SCHEMAS)[Format]> };

/** Whether the pages are in a ZIP. */
export function isArchive(output: Output): boolean {
  return output.format !== "pdf" && output.archive !== null;
}

export type OutputField = { [Format in OutputFormat]: keyof OutputOf[Format] }[OutputFormat];

/** The names of all fields, taken from the schemas so that the reader knows every one of them. */
export const OUTPUT_FIELDS: readonly OutputField[] = [
  ...new Set(Object.values(OUTPUT_SCHEMAS).flatMap(({ entries }) => Object.keys(entries))),
].filter(isOutputField);

export function isOutputField(name: string): name is OutputField {
  return Object.values(OUTPUT_SCHEMAS).some(({ entries }) => Object.hasOwn(entries, name));
}

export const DEFAULT_OUTPUT: Output = v.parse(OUTPUT_SCHEMAS.pdf, {});

export function isOutputFormat(format: unknown): format is OutputFormat {
  return typeof format === "string" && Object.hasOwn(OUTPUT_SCHEMAS, format);
}
