/**
 * The combinations that `output` must not have, in the order in which they are checked. The problem is
 * `invalid_request`; `context.rule` is the id of the first rule that is broken.
 */
import type { Limits } from "./limits.ts";
import type { Output, OutputField, PdfOutput, PdfStandard, PdfVersion } from "./output-options.ts";
import {
  countDistinctPages,
  PAGE_SELECTION,
  parsePageRange,
  parsePageSelection,
  splitSelections,
} from "./page-selection.ts";
import { type OutputRuleId, type Problem, problem } from "./problem.ts";

/** Raise it whenever a rule or a field of `output` accepts or rejects something else. Rewording does not count. */
export const OUTPUT_RULES_VERSION = 2;

/** The PDF version that each PDF/A profile requires (ISO 19005-1 to -4). Others are no PDF/A profiles. */
export const PDF_A_VERSION = {
  "a-1b": "1.4",
  "a-1a": "1.4",
  "a-2b": "1.7",
  "a-2u": "1.7",
  "a-2a": "1.7",
  "a-3b": "1.7",
  "a-3u": "1.7",
  "a-3a": "1.7",
  "a-4": "2.0",
  "a-4f": "2.0",
  "a-4e": "2.0",
} as const satisfies Partial<Record<PdfStandard, PdfVersion>>;

/** The standards that require a tagged PDF. Typst writes no tags when pages are selected. */
export const TAGGED_STANDARDS = ["ua-1", "a-1a", "a-2a", "a-3a"] as const satisfies readonly PdfStandard[];

export const PDF_A_4_STANDARDS = ["a-4", "a-4f", "a-4e"] as const satisfies readonly PdfStandard[];

export const RULE_EVALUATION =
  "Rules are applied in the order listed, and an output that breaks several is reported against the first of them. A request that also breaks something no rule names (a missing source, an unknown field, a selection of more pages than an archive may hold) is reported for that first, without a rule. Pages are counted, each once, where archive is set and no rule about the page selection itself is broken.";

interface OutputRule {
  readonly id: OutputRuleId;
  /** Published, and sent as `detail` and `msg` when the rule is broken. */
  readonly description: string;
  readonly field: OutputField;
  /** Whether `output` breaks the rule. Called only for an output that breaks no earlier rule. */
  readonly isBrokenBy: (output: Output) => boolean;
}

export const OUTPUT_RULES: readonly OutputRule[] = [
  rule(
    "page_selection_too_long",
    "pages",
    `Keep pages to at most ${PAGE_SELECTION.max_length} characters, counted as Unicode code points.`,
    ({ pages }) => pages !== null && isLongerThan(pages, PAGE_SELECTION.max_length),
  ),
  rule(
    "page_selection_too_many_segments",
    "pages",
    `Keep pages to at most ${PAGE_SELECTION.max_selections} comma-separated selections.`,
    ({ pages }) => pages !== null && splitSelections(pages).length > PAGE_SELECTION.max_selections,
  ),
  rule(
    "page_selection_malformed",
    "pages",
    "Write each selection as a page (3), a range (2-5) or an open range (8-): numbers from 1 to 999999999 without leading zeros, no spaces, no empty selections.",
    ({ pages }) => pages !== null && splitSelections(pages).some((selection) => parsePageRange(selection) === null),
  ),
  rule(
    "page_range_end_precedes_start",
    "pages",
    "Write a closed range from its lower to its higher page: 2-5, not 5-2.",
    ({ pages }) => pages !== null && parsePageSelection(pages).some(({ first, last }) => last !== null && last < first),
  ),
  rule("duplicate_standards", "standards", "Name each standard once.", (output) => {
    return standardsOf(output).some((standard, index, standards) => standards.indexOf(standard) < index);
  }),
  rule(
    "multiple_pdf_a_standards",
    "standards",
    "Name at most one PDF/A standard; only ua-1 may accompany it.",
    (output) => standardsOf(output).filter(isPdfA).length > 1,
  ),
  rule(
    "ua_1_with_pdf_a_4",
    "standards",
    "Do not combine ua-1 with a-4, a-4f or a-4e: PDF/UA-1 builds on PDF 1.7, PDF/A-4 on PDF 2.0.",
    (output) => hasUa1(output) && standardsOf(output).some((standard) => includes(PDF_A_4_STANDARDS, standard)),
  ),
  rule(
    "version_conflicts_with_standard",
    "version",
    "Leave version out, or set it to the one that the PDF/A standard requires (pdf_a_version).",
    (output) => {
      const version = versionOf(output);
      const required = standardsOf(output)
        .filter(isPdfA)
        .map((standard) => PDF_A_VERSION[standard]);
      return version !== null && required.some((requiredVersion) => requiredVersion !== version);
    },
  ),
  rule(
    "ua_1_with_pdf_2_0",
    "version",
    "Do not combine ua-1 with version 2.0: leave version out or set it to 1.7 or lower.",
    (output) => hasUa1(output) && versionOf(output) === "2.0",
  ),
  rule(
    "pages_with_tagged_standard",
    "pages",
    "Do not combine pages with a standard that requires tags (ua-1, a-1a, a-2a, a-3a): a selection of pages cannot be tagged.",
    (output) => output.pages !== null && standardsOf(output).some((standard) => includes(TAGGED_STANDARDS, standard)),
  ),
  rule(
    "pages_requires_archive",
    "pages",
    'Set archive to "zip" to select pages of an image output, or use page for a single image.',
    (output) => output.format !== "pdf" && output.pages !== null && output.archive === null,
  ),
  rule(
    "page_with_archive",
    "page",
    "Use pages, not page, together with archive.",
    (output) => output.format !== "pdf" && output.page !== null && output.archive !== null,
  ),
];

const SELECTION_RULES: ReadonlySet<OutputRuleId> = new Set([
  "page_selection_too_long",
  "page_selection_too_many_segments",
  "page_selection_malformed",
  "page_range_end_precedes_start",
]);

/**
 * The number of pages is checked before the rules, because no rule names it (docs/api.md#output-rules), unless the
 * pages cannot be counted.
 */
export function validateOutput(output: Output, limits: Limits): Problem | null {
  const broken = OUTPUT_RULES.find(({ isBrokenBy }) => isBrokenBy(output));
  const tooManyPages =
    broken !== undefined && SELECTION_RULES.has(broken.id) ? null : validateSelectedPageCount(output, limits);
  if (broken === undefined || tooManyPages !== null) return tooManyPages;
  const { id, field, description } = broken;
  const errors = [{ loc: ["output", field], msg: description, type: id }];
  return problem("invalid_request", description, { rule: id, errors });
}

function validateSelectedPageCount(output: Output, limits: Limits): Problem | null {
  if (output.format === "pdf" || output.pages === null || output.archive === null) return null;
  const count = countDistinctPages(parsePageSelection(output.pages));
  const limit = limits.max_output_files;
  if (count <= limit) return null;
  const detail = `pages selects ${count} pages; the limit for an archive is ${limit}.`;
  return problem("page_selection_too_large", detail, { count, limit });
}

function rule(
  id: OutputRuleId,
  field: OutputField,
  description: string,
  isBrokenBy: (output: Output) => boolean,
): OutputRule {
  return { id, field, description, isBrokenBy };
}

function standardsOf(output: Output): PdfOutput["standards"] {
  return output.format === "pdf" ? output.standards : [];
}

function versionOf(output: Output): PdfOutput["version"] {
  return output.format === "pdf" ? output.version : null;
}

function hasUa1(output: Output): boolean {
  return standardsOf(output).includes("ua-1");
}

function isPdfA(standard: PdfStandard): standard is keyof typeof PDF_A_VERSION {
  return Object.hasOwn(PDF_A_VERSION, standard);
}

function includes(standards: readonly PdfStandard[], standard: PdfStandard): boolean {
  return standards.includes(standard);
}

function isLongerThan(text: string, maxCodePoints: number): boolean {
  return text.length > maxCodePoints && Array.from(text.slice(0, 2 * maxCodePoints + 2)).length > maxCodePoints;
}
