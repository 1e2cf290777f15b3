/** The published documents: `GET /v1/constraints` and the static ones, made from what the service validates by. */
import { FILES_VECTORS, OUTPUT_VECTORS } from "./conformance-vectors.ts";
import { CASE_SENSITIVITY, KEY_PATTERN, KEY_RULES, RULES_VERSION, SET_RULES } from "./files-rules.ts";
import { type Limits, MAX_KEYS } from "./limits.ts";
import {
  ARCHIVES,
  IMAGE_FORMATS,
  MAX_STANDARDS,
  MIN_PAGE,
  OUTPUT_FORMATS,
  PDF_FORMATS,
  PDF_STANDARDS,
  PDF_VERSIONS,
  PPI,
} from "./output-options.ts";
import {
  OUTPUT_RULES,
  OUTPUT_RULES_VERSION,
  PDF_A_4_STANDARDS,
  PDF_A_VERSION,
  RULE_EVALUATION,
  TAGGED_STANDARDS,
} from "./output-rules.ts";
import { PAGE_SELECTION } from "./page-selection.ts";
import { PROBLEM_MEDIA_TYPE, PROBLEM_ORIGINS, PROBLEMS } from "./problem.ts";
import { ERROR_TYPES } from "./validation-errors.ts";

const FILES_KEY_RULES_DOCUMENT = {
  rules_version: RULES_VERSION,
  key_pattern: KEY_PATTERN,
  key_pattern_flavour: "pcre",
  ...KEY_RULES,
  max_keys: MAX_KEYS,
  case_sensitivity: CASE_SENSITIVITY,
  set_rules: SET_RULES,
  conformance_vectors: FILES_VECTORS,
} as const;

const OUTPUT_RULES_DOCUMENT = {
  output_rules_version: OUTPUT_RULES_VERSION,
  formats: OUTPUT_FORMATS,
  pdf: {
    formats: PDF_FORMATS,
    versions: PDF_VERSIONS,
    standards: PDF_STANDARDS,
    max_standards: MAX_STANDARDS,
    pdf_a_version: PDF_A_VERSION,
    tagged_standards: TAGGED_STANDARDS,
    pdf_a_4_standards: PDF_A_4_STANDARDS,
  },
  image: { formats: IMAGE_FORMATS, archives: ARCHIVES, min_page: MIN_PAGE, png: PPI },
  page_selection: PAGE_SELECTION,
  rule_evaluation: RULE_EVALUATION,
  rules: OUTPUT_RULES.map(({ id, description }) => ({ id, error_code: "invalid_request", description })),
  conformance_vectors: OUTPUT_VECTORS,
} as const;

export const ERROR_CODES_DOCUMENT = {
  media_type: PROBLEM_MEDIA_TYPE,
  origins: PROBLEM_ORIGINS,
  codes: Object.entries(PROBLEMS).map(([code, { meaning, ...definition }]) => ({
    code,
    ...definition,
    cause: meaning,
  })),
  validation_error_types: ERROR_TYPES,
} as const;

export function constraintsDocument(limits: Limits) {
  return { ...FILES_KEY_RULES_DOCUMENT, limits, output_rules: OUTPUT_RULES_DOCUMENT };
}

export const STATIC_DOCUMENTS = {
  "files-key-rules.json": FILES_KEY_RULES_DOCUMENT,
  "output-rules.json": OUTPUT_RULES_DOCUMENT,
  "error-codes.json": ERROR_CODES_DOCUMENT,
} as const;

/** The interface description, which only the generator of `edge/static/` can make, is served under this name. */
export const OPENAPI_DOCUMENT_NAME = "openapi.json";
