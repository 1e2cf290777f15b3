/** The ids of the published rules, the values of `context.rule`. They never change: clients branch on them. */

/** The rules for the set of keys in `files`; see `files-rules.ts`. */
export type SetRuleId = "too_many_keys" | "case_collision" | "ancestor_collision";

/** The rules over several fields of `output`; see `output-rules.ts`. */
export type OutputRuleId =
  | "page_selection_too_long"
  | "page_selection_too_many_segments"
  | "page_selection_malformed"
  | "page_range_end_precedes_start"
  | "duplicate_standards"
  | "multiple_pdf_a_standards"
  | "ua_1_with_pdf_a_4"
  | "version_conflicts_with_standard"
  | "ua_1_with_pdf_2_0"
  | "pages_with_tagged_standard"
  | "pages_requires_archive"
  | "page_with_archive";
