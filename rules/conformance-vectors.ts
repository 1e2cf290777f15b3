/**
 * Inputs with their verdicts, for clients that implement the published rules. The verdicts are written down, so that
 * tests can compare the code with them. Every limit has a vector at the limit and one past it.
 */
import { KEY_RULES } from "./files-rules.ts";
import { MAX_KEYS } from "./limits.ts";
import { PDF_STANDARDS, PDF_VERSIONS, PPI } from "./output-options.ts";
import { PDF_A_VERSION } from "./output-rules.ts";
import { PAGE_SELECTION } from "./page-selection.ts";
import type { OutputRuleId, ProblemCode, SetRuleId } from "./problem.ts";

export interface FilesVector {
  readonly keys: readonly string[];
  readonly accepted: boolean;
  readonly code: ProblemCode | null;
  readonly rule: SetRuleId | null;
}

export interface OutputVector {
  readonly output: Readonly<Record<string, unknown>>;
  readonly accepted: boolean;
  readonly code: ProblemCode | null;
  readonly rule: OutputRuleId | null;
}

function acceptedKeys(...keys: string[]): FilesVector {
  return { keys, accepted: true, code: null, rule: null };
}

function rejectedKey(key: string): FilesVector {
  return { keys: [key], accepted: false, code: "invalid_template_path", rule: null };
}

function rejectedSet(rule: SetRuleId, ...keys: string[]): FilesVector {
  return { keys, accepted: false, code: "invalid_file_data", rule };
}

const { max_segment_length: SEGMENT_MAX, max_key_length: KEY_MAX } = KEY_RULES;
const longestSegment = "s".repeat(SEGMENT_MAX);

function keyOfLength(length: number): string {
  const whole = `${longestSegment}/`.repeat(Math.ceil(length / (SEGMENT_MAX + 1)));
  const key = whole.slice(0, length);
  return key.endsWith("/") ? `${key.slice(0, -2)}/s` : key;
}

function shortKeys(count: number): string[] {
  return Array.from({ length: count }, (_, index) => index.toString(36));
}

/** Every printable ASCII character that no key may contain, and DEL. The slash separates segments. */
const FOREIGN_CHARACTERS = [..." !\"#$%&'()*+,:;<=>?@[\\]^`{|}~\u007f"];

/** Vectors for single keys and for sets. They do not depend on a deployment's limits: 1024 keys are accepted. */
export const FILES_VECTORS: readonly FilesVector[] = [
  acceptedKeys(),
  acceptedKeys("main.typ"),
  acceptedKeys("assets/logo.png"),
  acceptedKeys("lib/theme.typ", "lib/chart.typ", "assets/logo.png"),
  acceptedKeys("a"),
  acceptedKeys("A-Z_a-z.0-9"),
  acceptedKeys("-", "_", "0"),
  acceptedKeys(".hidden", "a.", "..a", "a..b", ".a./.b."),
  acceptedKeys(longestSegment),
  acceptedKeys(`${longestSegment}/${longestSegment}`),
  acceptedKeys(keyOfLength(KEY_MAX)),
  // biome-ignore format: a table.
  ...[
    `${longestSegment}s`, `a/${longestSegment}s`, `${longestSegment}s/a`, keyOfLength(KEY_MAX + 1), "", "/", "/a",
    "a/", "a//b", "//a", ".", "..", "...", "....", "../a", "./a", "a/.", "a/..", "a/../b", "a/.../b", "a\n", "\na",
    "a\nb", "a/b\n", "a\r\n", "a\rb", "..\n", "a\u0000", "\u0000",
  ].map(rejectedKey),
  ...FOREIGN_CHARACTERS.map((character) => rejectedKey(`k${character}k`)),
  // biome-ignore format: a table.
  ...[
    "a b", " a", "a\t", "a\\b", "C:", "a:b", "a*", "~", "a%2fb", "\u00e9.typ", "e\u0301.typ", "\u212a.typ",
    "\uff0e\uff0e/a", "a\u2028", "\ud83d\ude00", "a\u202egpj.exe",
  ].map(rejectedKey),
  acceptedKeys("a", "b"),
  acceptedKeys("ab", "a/b"),
  acceptedKeys("a/b", "a/c", "a.b"),
  acceptedKeys("a", "a."),
  acceptedKeys("a.", "a-", "a_"),
  acceptedKeys("a-/c", "a./c", "ab", "a0/c"),
  acceptedKeys("lib/x.typ", "library/x.typ"),
  rejectedSet("case_collision", "a", "A"),
  rejectedSet("case_collision", "README.md", "readme.MD"),
  rejectedSet("case_collision", "lib/x.typ", "LIB/x.typ"),
  rejectedSet("case_collision", "b", "a/k", "a/K"),
  ...[..."ABCDEFGHIJKLMNOPQRSTUVWXYZ"].map((letter) => rejectedSet("case_collision", letter, letter.toLowerCase())),
  rejectedSet("ancestor_collision", "lib", "lib/x.typ"),
  // Sorted by bytes, the file is not next to the paths below it.
  rejectedSet("ancestor_collision", "a", "a.b", "a/c"),
  rejectedSet("ancestor_collision", "a", "a-b", "a.b", "a/c"),
  rejectedSet("ancestor_collision", "a/b", "a/b-", "a/b.c/d", "a/b/c"),
  rejectedSet("ancestor_collision", "Z", "z/a"),
  rejectedSet("ancestor_collision", "lib/x.typ", "lib"),
  rejectedSet("ancestor_collision", "lib", "LIB/x.typ"),
  rejectedSet("ancestor_collision", "a/b", "a/b/c/d"),
  rejectedSet("ancestor_collision", "A/B", "a/b/c/d"),
  rejectedSet("case_collision", "a/b", "a", "A"),
  acceptedKeys(...shortKeys(MAX_KEYS)),
  rejectedSet("too_many_keys", ...shortKeys(MAX_KEYS + 1)),
  // An implementation that checks collisions first reports another rule.
  rejectedSet("too_many_keys", ...shortKeys(MAX_KEYS), "A"),
  rejectedSet("too_many_keys", ...shortKeys(MAX_KEYS), "a/b"),
  rejectedSet("case_collision", "lib", "lib/x", "LIB/X"),
];

function acceptedOutput(output: Record<string, unknown>): OutputVector {
  return { output, accepted: true, code: null, rule: null };
}

function rejectedOutput(output: Record<string, unknown>, code: ProblemCode = "invalid_request"): OutputVector {
  return { output, accepted: false, code, rule: null };
}

function rejectedByRule(rule: OutputRuleId, output: Record<string, unknown>): OutputVector {
  return { output, accepted: false, code: "invalid_request", rule };
}

const pdf = (fields: Record<string, unknown>) => ({ format: "pdf", ...fields });
const png = (fields: Record<string, unknown>) => ({ format: "png", ...fields });
const svg = (fields: Record<string, unknown>) => ({ format: "svg", ...fields });

const PROFILES = Object.entries(PDF_A_VERSION);
const selections = (count: number) => Array.from({ length: count }, () => "1").join(",");

function profileVectors(): OutputVector[] {
  return PROFILES.flatMap(([profile, required]) => [
    acceptedOutput(pdf({ standards: [profile] })),
    ...PDF_VERSIONS.map((version) =>
      version === required
        ? acceptedOutput(pdf({ standards: [profile], version }))
        : rejectedByRule("version_conflicts_with_standard", pdf({ standards: [profile], version })),
    ),
    required === "2.0"
      ? rejectedByRule("ua_1_with_pdf_a_4", pdf({ standards: [profile, "ua-1"] }))
      : acceptedOutput(pdf({ standards: [profile, "ua-1"] })),
  ]);
}

function taggingVectors(): OutputVector[] {
  const tagged = ["ua-1", "a-1a", "a-2a", "a-3a"];
  return PDF_STANDARDS.map((standard) => {
    const output = pdf({ standards: [standard], pages: "1" });
    return tagged.includes(standard) ? rejectedByRule("pages_with_tagged_standard", output) : acceptedOutput(output);
  });
}

/** Values of `pages` that break a rule for its text, and values that break two. */
const BROKEN_PAGES: readonly (readonly [rule: OutputRuleId, pages: string])[] = [
  ["page_selection_too_long", `${"1,".repeat(PAGE_SELECTION.max_length / 2)}1`],
  ["page_selection_too_long", "x".repeat(PAGE_SELECTION.max_length + 1)],
  ["page_selection_too_long", `3-2,${"100000000,".repeat(26)}1`],
  ["page_selection_too_many_segments", `x${",1".repeat(PAGE_SELECTION.max_selections)}`],
  ["page_selection_too_many_segments", `3-2${",1".repeat(PAGE_SELECTION.max_selections)}`],
  ["page_selection_malformed", "3-2,x"],
  ["page_selection_malformed", "x,3-2"],
  ["page_range_end_precedes_start", "1,3-2"],
];

/** Fields that each break one rule over several fields, in the order of the rules. */
const BROKEN_PDF_FIELDS: readonly (readonly [rule: OutputRuleId, fields: Record<string, unknown>])[] = [
  ["duplicate_standards", { standards: ["a-2b", "a-2b"] }],
  ["multiple_pdf_a_standards", { standards: ["a-2b", "a-3b"] }],
  ["ua_1_with_pdf_a_4", { standards: ["a-4", "ua-1"] }],
  ["version_conflicts_with_standard", { standards: ["a-2b"], version: "1.4" }],
  ["ua_1_with_pdf_2_0", { standards: ["ua-1"], version: "2.0" }],
  ["pages_with_tagged_standard", { standards: ["a-2a"] }],
];
const BROKEN_IMAGE_FIELDS: readonly (readonly [rule: OutputRuleId, fields: Record<string, unknown>])[] = [
  ["pages_requires_archive", {}],
  ["page_with_archive", { page: 1, archive: "zip" }],
];

/** For every two rules that one output can break: both are broken, and the earlier one is reported. */
function pairVectors(): OutputVector[] {
  const withPages = BROKEN_PAGES.flatMap(([rule, pages]) => [
    rejectedByRule(rule, pdf({ pages })),
    ...BROKEN_PDF_FIELDS.map(([, fields]) => rejectedByRule(rule, pdf({ ...fields, pages }))),
    ...BROKEN_IMAGE_FIELDS.map(([, fields]) => rejectedByRule(rule, png({ ...fields, pages }))),
  ]);
  return [
    ...withPages,
    // With at most two standards, duplicates are one profile twice or `ua-1` twice.
    rejectedByRule("duplicate_standards", pdf({ standards: ["a-2b", "a-2b"], version: "1.4" })),
    rejectedByRule("duplicate_standards", pdf({ standards: ["ua-1", "ua-1"], version: "2.0" })),
    rejectedByRule("duplicate_standards", pdf({ standards: ["ua-1", "ua-1"], pages: "1" })),
    rejectedByRule("duplicate_standards", pdf({ standards: ["a-4", "a-4"], version: "1.7" })),
    rejectedByRule("multiple_pdf_a_standards", pdf({ standards: ["a-2b", "a-3b"], version: "1.4" })),
    rejectedByRule("multiple_pdf_a_standards", pdf({ standards: ["a-1b", "a-2b"], version: "1.7" })),
    rejectedByRule("multiple_pdf_a_standards", pdf({ standards: ["a-2b", "a-3a"], pages: "1" })),
    rejectedByRule("ua_1_with_pdf_a_4", pdf({ standards: ["ua-1", "a-4"], version: "1.7" })),
    rejectedByRule("ua_1_with_pdf_a_4", pdf({ standards: ["a-4e", "ua-1"], pages: "1" })),
    rejectedByRule("version_conflicts_with_standard", pdf({ standards: ["a-2b", "ua-1"], version: "1.6" })),
    rejectedByRule("version_conflicts_with_standard", pdf({ standards: ["ua-1", "a-1a"], version: "1.5" })),
    rejectedByRule("version_conflicts_with_standard", pdf({ standards: ["ua-1", "a-2b"], version: "2.0" })),
    rejectedByRule("version_conflicts_with_standard", pdf({ standards: ["a-2a"], version: "1.4", pages: "1" })),
    rejectedByRule("ua_1_with_pdf_2_0", pdf({ standards: ["ua-1"], version: "2.0", pages: "1" })),
    // The standard that requires tags may be the second one.
    rejectedByRule("pages_with_tagged_standard", pdf({ standards: ["a-2b", "ua-1"], pages: "1" })),
    rejectedByRule("pages_with_tagged_standard", pdf({ standards: ["ua-1", "a-3b"], pages: "1" })),
    rejectedByRule("pages_with_tagged_standard", pdf({ standards: ["a-2a"], pages: "1-" })),
  ];
}

function removeDuplicates(vectors: readonly OutputVector[]): OutputVector[] {
  return [...new Map(vectors.map((vector) => [JSON.stringify(vector.output), vector])).values()];
}

export const OUTPUT_VECTORS: readonly OutputVector[] = removeDuplicates([
  acceptedOutput({}),
  acceptedOutput(pdf({})),
  acceptedOutput(pdf({ filename: null, version: null, standards: [], pages: null })),
  acceptedOutput(pdf({ filename: "report.pdf" })),
  ...PDF_VERSIONS.map((version) => acceptedOutput(pdf({ version }))),
  acceptedOutput(png({})),
  acceptedOutput(png({ filename: null, page: null, pages: null, archive: null })),
  acceptedOutput(png({ page: 1, ppi: PPI.min_ppi })),
  acceptedOutput(png({ ppi: PPI.max_ppi })),
  acceptedOutput(png({ archive: "zip" })),
  acceptedOutput(png({ archive: "zip", pages: "1,3-4,8-" })),
  acceptedOutput(svg({})),
  acceptedOutput(svg({ page: 2 })),
  // Unlike a number in `pages`, `page` has no upper bound.
  acceptedOutput(svg({ page: 9_999_999_999 })),
  acceptedOutput(svg({ filename: "figure.svg" })),
  acceptedOutput(svg({ archive: "zip", pages: "2-" })),

  ...["html", "PDF", ""].map((format) => rejectedOutput({ format }, "unsupported_format")),
  ...[null, 1].map((format) => rejectedOutput({ format })),
  rejectedOutput({ page: 1 }),
  rejectedOutput(pdf({ page: 1 })),
  rejectedOutput(pdf({ archive: "zip" })),
  rejectedOutput(pdf({ ppi: 144 })),
  rejectedOutput(pdf({ colour: "grey" })),
  rejectedOutput(pdf({ filename: 1 })),
  ...["1.3", "1.8", "2.1", "1", "", 1.7].map((version) => rejectedOutput(pdf({ version }))),
  ...[null, "a-2b", ["a-5"], ["A-2B"], ["a-2b", "ua-1", "a-3b"]].map((standards) => rejectedOutput(pdf({ standards }))),
  rejectedOutput(pdf({ pages: 1 })),
  rejectedOutput(png({ version: "1.7" })),
  rejectedOutput(png({ standards: [] })),
  ...[PPI.min_ppi - 1, PPI.max_ppi + 1, 72.5, null, "144"].map((ppi) => rejectedOutput(png({ ppi }))),
  ...[0, -1, 1.5].map((page) => rejectedOutput(png({ page }))),
  ...["tar", "ZIP", true].map((archive) => rejectedOutput(png({ archive }))),
  rejectedOutput(svg({ ppi: 144 })),
  rejectedOutput(svg({ version: "1.7" })),
  rejectedOutput(svg({ standards: ["a-2b"] })),
  // An error that no rule names is reported first.
  rejectedOutput(svg({ ppi: 144, pages: "1" })),

  // 51 times five characters and one more are exactly the limit.
  acceptedOutput(pdf({ pages: `${"1234,".repeat(51)}1` })),
  rejectedByRule("page_selection_too_long", pdf({ pages: "1".repeat(PAGE_SELECTION.max_length + 1) })),
  rejectedByRule("page_selection_malformed", pdf({ pages: "1".repeat(PAGE_SELECTION.max_length) })),
  // Characters are code points: these 256 have 512 UTF-16 units and are not too long.
  rejectedByRule("page_selection_malformed", pdf({ pages: "\u{1f4c4}".repeat(PAGE_SELECTION.max_length) })),
  rejectedByRule("page_selection_too_long", pdf({ pages: "\u{1f4c4}".repeat(PAGE_SELECTION.max_length + 1) })),
  acceptedOutput(pdf({ pages: selections(PAGE_SELECTION.max_selections) })),
  rejectedByRule("page_selection_too_many_segments", pdf({ pages: selections(PAGE_SELECTION.max_selections + 1) })),
  rejectedByRule("page_selection_too_many_segments", pdf({ pages: ",".repeat(PAGE_SELECTION.max_selections) })),
  acceptedOutput(pdf({ pages: "999999999" })),
  // biome-ignore format: a table.
  ...[
    "", "0", "01", "1000000000", "-1", "-", "1--2", "1-2-3", "1,", ",1", "1,,2", " 1", "1 ", "1 - 2", "1;2", "a",
    "1\n", "+1", "1.0", "\u0661", "1\u0661", "1-\u0661", "1-1\u0661", "1-01", "1-0", "1-1000000000", "1-+2",
    "1-end", "1:2", "1..2", "1\u20132", "1 -2", "1- 2", "1, 2", "1\t", "1\n,2", "1e1", "0x1", "1_0", "\uff11",
  ].map((pages) => rejectedByRule("page_selection_malformed", pdf({ pages }))),
  acceptedOutput(pdf({ pages: "2-2" })),
  // Pages are compared as numbers, not as text, where "10" comes before "9".
  ...["1-10", "9-10", "1-999999999", "999999999-", "5,2,2-3,1-"].map((pages) => acceptedOutput(pdf({ pages }))),
  ...["5-2,1", "100-99", "3-2", "1,10-9"].map((pages) =>
    rejectedByRule("page_range_end_precedes_start", pdf({ pages })),
  ),
  rejectedByRule("page_selection_malformed", png({ pages: "x" })),

  acceptedOutput(pdf({ standards: ["ua-1"] })),
  ...PDF_VERSIONS.filter((version) => version !== "2.0").map((version) =>
    acceptedOutput(pdf({ standards: ["ua-1"], version })),
  ),
  rejectedByRule("ua_1_with_pdf_2_0", pdf({ standards: ["ua-1"], version: "2.0" })),
  acceptedOutput(pdf({ standards: ["ua-1", "a-2a"] })),
  rejectedByRule("duplicate_standards", pdf({ standards: ["a-2b", "a-2b"] })),
  rejectedByRule("duplicate_standards", pdf({ standards: ["ua-1", "ua-1"] })),
  rejectedByRule("multiple_pdf_a_standards", pdf({ standards: ["a-2b", "a-3b"] })),
  rejectedByRule("multiple_pdf_a_standards", pdf({ standards: ["a-4", "a-4f"] })),
  rejectedByRule("ua_1_with_pdf_a_4", pdf({ standards: ["ua-1", "a-4"], version: "2.0" })),
  rejectedByRule("version_conflicts_with_standard", pdf({ standards: ["ua-1", "a-2a"], version: "2.0" })),
  ...profileVectors(),
  ...taggingVectors(),

  rejectedByRule("pages_requires_archive", png({ pages: "1" })),
  rejectedByRule("pages_requires_archive", svg({ pages: "1" })),
  rejectedByRule("pages_requires_archive", png({ pages: "1", page: 1 })),
  rejectedByRule("page_with_archive", png({ page: 1, archive: "zip" })),
  rejectedByRule("page_with_archive", svg({ page: 1, pages: "1", archive: "zip" })),
  ...pairVectors(),
]);
