/** The body of `POST /v1/render` as schemas, for the description only: the service has `rules/render-request.ts`. */
import * as v from "valibot";
import { KEY_PATTERN, KEY_RULES } from "../../../rules/files-rules.ts";
import { LIMIT_SETTINGS, MAX_KEYS } from "../../../rules/limits.ts";
import {
  MAX_STANDARDS,
  OUTPUT_FORMATS,
  OUTPUT_SCHEMAS,
  type OutputField,
  type OutputFormat,
  PDF_STANDARDS,
} from "../../../rules/output-options.ts";
import { PAGE_SELECTION } from "../../../rules/page-selection.ts";
import { describe } from "./response-schemas.ts";

/** A PCRE of the rules as JSON Schema needs it: in ECMAScript, `$` without flags matches only at the very end. */
const KEY_PATTERN_ECMA = new RegExp(KEY_PATTERN.replaceAll("\\A", "^").replaceAll("\\z", "$").replaceAll("/", "\\/"));

const { selection_pattern: SELECTION, max_selections, max_length } = PAGE_SELECTION;
const PAGES_ECMA = new RegExp(`^${SELECTION}(?:,${SELECTION}){0,${max_selections - 1}}$`);

const pageSelection = v.pipe(
  v.string(),
  v.maxLength(max_length),
  v.regex(PAGES_ECMA),
  v.description("Physical pages, counted from one: pages, ranges and open ranges, separated by commas."),
  v.examples(["1", "2-5", "1,3-5,8-"]),
);

const FIELD_DESCRIPTIONS: Readonly<Record<OutputField, string>> = {
  format: "What to make.",
  filename: "The suggested name of the file. It is made safe and its extension corrected.",
  version:
    "The PDF version. Without it, the one that the PDF/A standard requires, else 1.7. One that the standard does not allow is rejected (rule `version_conflicts_with_standard`).",
  standards:
    "At most one PDF/A profile, and `ua-1`; none by default. The rules in `/output-rules.json` say what may be combined.",
  pages: "The pages to keep. Images need `archive` with it; standards that require tags do not allow it.",
  page: "The page to make one direct image of. A document of several pages needs it, or `archive`.",
  archive: "`zip`: a ZIP archive of all pages, or of those in `pages`, even if it is only one.",
  ppi: "Pixels per inch.",
};

const pdfStandard = describe(v.picklist(PDF_STANDARDS), "A profile of PDF/A (ISO 19005), or PDF/UA-1 (ISO 14289-1).");

type Schema = v.GenericSchema<unknown, unknown>;

/** In more detail than the service's schema, where output rules validate them, or in an order beyond JSON Schema. */
const SPELLED_OUT: Partial<Record<string, Schema>> = {
  pages: v.optional(v.nullable(pageSelection), null),
  standards: v.optional(v.pipe(v.array(pdfStandard), v.maxLength(MAX_STANDARDS))),
};

function outputSchema(format: OutputFormat): Schema {
  const fields = Object.entries(OUTPUT_SCHEMAS[format].entries).map(([name, schema]) => [
    name,
    v.pipe<Schema, v.DescriptionAction<unknown, string>>(
      SPELLED_OUT[name] ?? schema,
      v.description(FIELD_DESCRIPTIONS[name as OutputField]),
    ),
  ]);
  return v.strictObject(Object.fromEntries(fields));
}

const pdfOutput = outputSchema("pdf");
const pngOutput = outputSchema("png");
const svgOutput = outputSchema("svg");

/** The limits of a deployment on a field of the request, as a sentence. */
function limitsOn(field: "source" | "files" | "data"): string {
  const limits = Object.entries(LIMIT_SETTINGS).filter(([, limit]) => limit.field === field);
  return `Limits: ${limits.map(([name, { appliesTo, unit }]) => `\`limits.${name}\` for ${appliesTo}, in ${unit}`).join("; ")}.`;
}

const renderFile = describe(
  v.strictObject({
    encoding: describe(v.picklist(["text", "base64"]), "How `content` is written."),
    content: describe(
      v.string(),
      "The file: its text, or its bytes in Base64 as in RFC 4648 section 4 (padded, no line breaks, no `data:` URL).",
    ),
  }),
  "One file of the project.",
);

/** What `format` is in any of the three. */
export const ANY_FORMAT = {
  enum: OUTPUT_FORMATS,
  type: "string",
  default: "pdf" satisfies OutputFormat,
  description: FIELD_DESCRIPTIONS.format,
} as const;

const renderOutput = describe(
  v.union([pdfOutput, pngOutput, svgOutput]),
  "What to make of the source. `format` says which of the three objects it is; without it, it is a PDF. What may not be combined is in `output_rules` of `GET /v1/constraints`, and answered by `invalid_request` with `context.rule`.",
);

/** Defaults that are objects or arrays are in prose: code of several generators does not compile with them. */
const renderRequest = v.strictObject({
  source: v.pipe(
    v.string(),
    v.minLength(1),
    v.description(`Typst source, the entry point of the project. ${limitsOn("source")}`),
  ),
  files: v.optional(
    v.pipe(
      v.record(
        v.pipe(
          v.string(),
          v.minLength(KEY_RULES.min_key_length),
          v.maxLength(KEY_RULES.max_key_length),
          v.regex(KEY_PATTERN_ECMA),
        ),
        renderFile,
      ),
      v.maxEntries(MAX_KEYS),
      v.description(
        `The other files of the project by path, up to \`limits.effective_max_files\` of them; none by default. No two paths may differ only in case, and none may be a folder of another. A package below \`packages/NAMESPACE/NAME/VERSION/\` is found by \`#import "@NAMESPACE/NAME:VERSION"\`. ${limitsOn("files")}`,
      ),
    ),
  ),
  data: v.optional(
    describe(
      v.unknown(),
      `Any JSON value, by default \`{}\`. In the source it is \`data\`, and \`request\` as well; \`null\` is \`none\`. ${limitsOn("data")}`,
    ),
  ),
  output: v.optional(renderOutput),
});

export const REQUEST_SCHEMAS = {
  RenderRequest: renderRequest,
  RenderFile: renderFile,
  RenderOutput: renderOutput,
  PdfOutput: pdfOutput,
  PngOutput: pngOutput,
  SvgOutput: svgOutput,
  PdfStandard: pdfStandard,
  PageSelection: pageSelection,
} as const;
