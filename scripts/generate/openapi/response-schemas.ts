/** What the edge responds with, as schemas, for the description only. All objects are open (docs/api.md#versions). */
import * as v from "valibot";
import { CAPABILITIES_SCHEMA } from "../../../protocol/capabilities.ts";
import { KEY_RULES, SET_RULES } from "../../../rules/files-rules.ts";
import { LIMIT_SETTINGS, MAX_KEYS } from "../../../rules/limits.ts";
import { ARCHIVES, OUTPUT_FORMATS, PDF_STANDARDS, PDF_VERSIONS } from "../../../rules/output-options.ts";
import { OUTPUT_RULES } from "../../../rules/output-rules.ts";
import { PAGE_SELECTION } from "../../../rules/page-selection.ts";
import {
  PROBLEM_MEDIA_TYPE,
  PROBLEM_ORIGINS,
  PROBLEMS,
  type ProblemCode,
  type ProblemContexts,
  type SetRuleId,
} from "../../../rules/problem.ts";
import { ERROR_TYPES, MAX_REPORTED_ERRORS } from "../../../rules/validation-errors.ts";

type Schema<Output = unknown> = v.GenericSchema<unknown, Output>;

export function describe<S extends v.GenericSchema>(schema: S, description: string) {
  return v.pipe(schema, v.description<v.InferOutput<S>, string>(description));
}
const text = (description: string) => describe(v.string(), description);
const count = (description: string) => v.pipe(v.number(), v.integer(), v.minValue(0), v.description(description));
const flag = (description: string) => describe(v.boolean(), description);

// Problems

const setRuleId = v.picklist(SET_RULES.map(({ id }): SetRuleId => id));
const outputRuleId = v.picklist(OUTPUT_RULES.map(({ id }) => id));

const path = v.array(v.union([v.string(), v.pipe(v.number(), v.integer(), v.minValue(0))]));

const validationError = v.object({
  loc: describe(path, "Where in the request: object keys and array indices. Long keys are shortened."),
  msg: text("Prose, which may quote the value, shortened. Branch on `type`."),
  type: describe(
    v.string(),
    `Stable. One of \`${Object.keys(ERROR_TYPES).join("`, `")}\`, or the id of an output rule. \`/error-codes.json\` says what each means.`,
  ),
});

const errors = v.pipe(
  v.array(validationError),
  v.maxLength(MAX_REPORTED_ERRORS),
  v.description("The first validation errors."),
);
const errorsTotal = count("How many validation errors there are. Present only if `errors` has fewer.");
const validationErrors = { errors, errors_total: v.exactOptional(errorsTotal) };

const limit = count("The limit that was exceeded, in the unit that the code counts.");
const size = count("The measured size in bytes.");
const key = text("A key of `files`, complete and as sent.");
const itemCount = count("How many there are.");

const nothing = v.object({});

const CONTEXTS = {
  invalid_request: v.object({
    errors: v.exactOptional(errors),
    errors_total: v.exactOptional(errorsTotal),
    rule: v.exactOptional(describe(outputRuleId, "The output rule that rejected the request.")),
  }),
  unsupported_format: v.object(validationErrors),
  invalid_template_path: v.object(validationErrors),
  invalid_file_data: v.union([
    v.object({ ...validationErrors, key: v.exactOptional(key) }),
    v.object({ key, rule: v.exactOptional(setRuleId) }),
    v.object({ count: itemCount, limit, rule: v.exactOptional(setRuleId) }),
  ]),
  forbidden: nothing,
  not_found: nothing,
  method_not_allowed: nothing,
  render_timeout: v.object({ timeout_secs: count("The render timeout in seconds.") }),
  request_too_large: v.object({
    limit,
    declared_size: v.exactOptional(count("The `Content-Length` that was sent; not a measurement.")),
  }),
  template_source_too_large: v.object({ size, limit }),
  template_file_too_large: v.object({ key, size, limit }),
  string_too_large: v.object({
    path: describe(path, "Where in `data`: object keys and array indices. Long keys are shortened."),
    subject: describe(v.picklist(["key", "value"]), "Which string at `path` it is."),
    size,
    limit,
  }),
  output_too_large: v.object({ size, limit }),
  page_selection_too_large: v.object({ count: itemCount, limit }),
  too_many_output_files: v.object({ limit }),
  template_compile_failed: nothing,
  render_queue_full: v.object({ retry_after: count("Seconds to wait; the same as the `Retry-After` header.") }),
  render_failed: nothing,
  service_unavailable: nothing,
} as const satisfies { readonly [Code in ProblemCode]: Schema<ProblemContexts[Code]> };

function problemSchema(code: ProblemCode): Schema {
  const { status, origin, title, meaning } = PROBLEMS[code];
  return describe(
    v.object({
      code: v.literal(code),
      detail: text("What happened to this request. Prose, which may be reworded."),
      origin: v.literal(origin),
      title: v.pipe(text("What happened, in a few words. Prose, which may be reworded."), v.examples([title])),
      status: v.literal(status),
      instance: v.pipe(
        v.string(),
        v.metadata({ format: "uri-reference" }),
        v.description("The URL of the request; its fragment is the request id."),
      ),
      context: CONTEXTS[code],
    }),
    meaning,
  );
}

/** The name of the schema for the problems with a code: `NotFoundProblem` for `not_found`. */
export function problemSchemaName(code: ProblemCode): string {
  const words = code.split("_").map((word) => `${word.charAt(0).toUpperCase()}${word.slice(1)}`);
  return `${words.join("")}Problem`;
}

export const PROBLEM_CODES = Object.keys(PROBLEMS).filter((name): name is ProblemCode => Object.hasOwn(CONTEXTS, name));

const PROBLEM_SCHEMAS = Object.fromEntries(PROBLEM_CODES.map((code) => [problemSchemaName(code), problemSchema(code)]));

// The rules as documents

const publishedRule = v.object({
  id: text("Stable: `context.rule` of a problem has it."),
  error_code: text("The code of the problem that answers a request which breaks the rule."),
  description: text("What to do. Prose."),
});

const verdict = {
  accepted: flag("Whether the service takes it."),
  code: v.optional(v.nullable(text("The code of the problem, if it is rejected."))),
  rule: v.optional(v.nullable(text("The rule that rejects it, if one does."))),
};

const filesVector = v.object({ keys: describe(v.array(v.string()), "The keys of `files`."), ...verdict });
const outputVector = v.object({
  output: describe(v.record(v.string(), v.unknown()), "The `output` object."),
  ...verdict,
});

const filesKeyRules = v.object({
  rules_version: count("Rises whenever a rule for keys changes. Pin it."),
  key_pattern: text("All rules for one key as one expression, anchored by `\\A` and `\\z`."),
  key_pattern_flavour: v.literal("pcre"),
  segment_character_class: v.pipe(
    text("What a key may consist of between slashes."),
    v.examples([KEY_RULES.segment_character_class]),
  ),
  min_segment_length: count("The least characters between slashes."),
  max_segment_length: count("The most characters between slashes."),
  segments_may_not_be_only_dots: flag("Whether `.`, `..` and so on are rejected between slashes."),
  min_key_length: count("The least characters of a key."),
  max_key_length: count("The most characters of a key."),
  max_keys: describe(v.literal(MAX_KEYS), "The most entries of `files` that any deployment takes."),
  case_sensitivity: text("How case counts. Prose."),
  set_rules: describe(v.array(publishedRule), "Rules for all keys together, in the order of validation."),
  conformance_vectors: describe(
    v.array(filesVector),
    "Sets of keys with the service's verdict: tests for a validator of your own.",
  ),
});

const formats = (description: string) => describe(v.array(v.picklist(OUTPUT_FORMATS)), description);
const standards = (description: string) => describe(v.array(v.picklist(PDF_STANDARDS)), description);

const outputRules = v.object({
  output_rules_version: count("Rises whenever a rule for `output` changes. Pin it."),
  formats: formats("Every `format`."),
  pdf: v.object({
    formats: formats("The formats that these rules are for."),
    versions: describe(v.array(v.picklist(PDF_VERSIONS)), "Every `version`."),
    standards: standards("Every item of `standards`."),
    max_standards: count("The most items of `standards`."),
    pdf_a_version: describe(
      v.record(v.string(), v.picklist(PDF_VERSIONS)),
      "The PDF version that each PDF/A profile requires. Standards that are absent are not PDF/A profiles.",
    ),
    tagged_standards: standards("Standards that require a tagged PDF, and so all pages."),
    pdf_a_4_standards: standards("The family of PDF/A-4, which `ua-1` cannot accompany."),
  }),
  image: v.object({
    formats: formats("The formats that these rules are for."),
    archives: describe(v.array(v.picklist(ARCHIVES)), "Every `archive`."),
    min_page: count("The least `page`."),
    png: v.object({
      min_ppi: count("The least `ppi`."),
      max_ppi: count("The greatest `ppi`."),
      default_ppi: count("`ppi` if it is left out."),
    }),
  }),
  page_selection: v.object({
    max_length: count("The most of `pages`, in `max_length_unit`."),
    max_length_unit: v.pipe(text("What `max_length` counts."), v.examples([PAGE_SELECTION.max_length_unit])),
    max_selections: count("The most selections, which commas separate."),
    selection_pattern: text("What one selection is."),
    selection_pattern_flavour: v.literal("pcre"),
    selection_pattern_matches_whole_selection: flag("Whether the pattern must match all of a selection."),
    open_range_page_count: count("How many pages an open range counts for before the render."),
  }),
  rule_evaluation: text("In which order the rules are applied. Prose."),
  rules: describe(v.array(publishedRule), "Rules over several fields, in the order of validation."),
  conformance_vectors: describe(
    v.array(outputVector),
    "Outputs with the service's verdict: tests for a validator of your own.",
  ),
});

const limits = v.object({
  ...Object.fromEntries(
    Object.entries(LIMIT_SETTINGS).map(([name, { appliesTo, unit, code }]) => [
      name,
      count(`For ${appliesTo}, in ${unit}. Over it: \`${code}\`.`),
    ]),
  ),
  effective_max_files: count("The smaller of `max_keys` and `max_inline_files`."),
});

const constraints = v.object({ ...filesKeyRules.entries, limits, output_rules: outputRules });

const origin = describe(v.picklist(Object.keys(PROBLEM_ORIGINS)), "Who has to act.");

const errorCodes = v.object({
  media_type: v.literal(PROBLEM_MEDIA_TYPE),
  origins: describe(v.record(v.string(), v.string()), "What each origin means."),
  codes: v.array(
    v.object({
      code: text("Stable."),
      status: v.pipe(v.number(), v.integer(), v.minValue(400), v.maxValue(599)),
      origin,
      title: v.string(),
      context: describe(v.array(v.string()), "The members that `context` may have."),
      cause: text("Prose."),
    }),
  ),
  validation_error_types: describe(v.record(v.string(), v.string()), "What each `type` means."),
});

const health = v.pipe(
  v.record(v.string(), v.string()),
  v.description("A sign of life."),
  v.examples([{ status: "ok" }]),
);

export const RESPONSE_SCHEMAS: Readonly<Record<string, Schema>> = {
  Health: health,
  Capabilities: CAPABILITIES_SCHEMA,
  Constraints: constraints,
  ConstraintLimits: limits,
  FilesKeyRules: filesKeyRules,
  OutputRules: outputRules,
  PublishedRule: publishedRule,
  FilesConformanceVector: filesVector,
  OutputConformanceVector: outputVector,
  ErrorCodes: errorCodes,
  ValidationError: validationError,
  ...PROBLEM_SCHEMAS,
};
