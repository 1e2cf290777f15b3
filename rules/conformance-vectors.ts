/**
 * Conformance vectors: inputs with their verdicts, by which a client checks its own reading of the published rules.
 *
 * The verdicts are stated, not computed, so that the tests can hold the code to them. Every rule is shown at its edge:
 * at the limit and one past it.
 */
import { KEY_RULES } from "./files-rules.ts";
import { MAX_KEYS } from "./limits.ts";
import { PDF_STANDARDS, PDF_VERSIONS, PPI } from "./output-options.ts";
import { PDF_A_VERSION } from "./output-rules.ts";
import { PAGE_SELECTION } from "./page-selection.ts";
import type { ProblemCode } from "./problem.ts";
import type { OutputRuleId, SetRuleId } from "./rule-ids.ts";

/** One set of keys; `rule` is the whole-set rule that refuses it, where one does. */
export interface FilesVector {
  readonly keys: readonly string[];
  readonly accepted: boolean;
  readonly code: ProblemCode | null;
  readonly rule: SetRuleId | null;
}

/** One `output` object; an accepted one has neither `code` nor `rule`. */
export interface OutputVector {
  readonly output: Readonly<Record<string, unknown>>;
  readonly accepted: boolean;
  readonly code: ProblemCode | null;
  readonly rule: OutputRuleId | null;
}

function acceptedKeys(...keys: string[]): FilesVector {
  return { keys, accepted: true, code: null, rule: null };
}

function refusedKey(key: string): FilesVector {
  return { keys: [key], accepted: false, code: "invalid_template_path", rule: null };
}

function refusedSet(rule: SetRuleId, ...keys: string[]): FilesVector {
  return { keys, accepted: false, code: "invalid_file_data", rule };
}

const { max_segment_length: SEGMENT_MAX, max_key_length: KEY_MAX } = KEY_RULES;
const longestSegment = "s".repeat(SEGMENT_MAX);

/** A key of exactly `length` characters, of segments as long as they may be. */
function keyOfLength(length: number): string {
  const whole = `${longestSegment}/`.repeat(Math.ceil(length / (SEGMENT_MAX + 1)));
  const key = whole.slice(0, length);
  return key.endsWith("/") ? `${key.slice(0, -2)}/s` : key;
}

/** The shortest distinct keys there are: short enough that even a full set is a small document. */
function shortKeys(count: number): string[] {
  return Array.from({ length: count }, (_, index) => index.toString(36));
}

/** Every printable ASCII character that no key may hold, and DEL; the slash divides segments. */
const FOREIGN_CHARACTERS = [..." !\"#$%&'()*+,:;<=>?@[\\]^`{|}~\u007f"];

/** Vectors for single keys and for sets. Deployment limits are not part of them: a set of 1024 is validated by rule. */
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
  refusedKey(`${longestSegment}s`),
  refusedKey(`a/${longestSegment}s`),
  refusedKey(`${longestSegment}s/a`),
  refusedKey(keyOfLength(KEY_MAX + 1)),
  refusedKey(""),
  refusedKey("/"),
  refusedKey("/a"),
  refusedKey("a/"),
  refusedKey("a//b"),
  refusedKey("//a"),
  refusedKey("."),
  refusedKey(".."),
  refusedKey("..."),
  refusedKey("...."),
  refusedKey("../a"),
  refusedKey("./a"),
  refusedKey("a/."),
  refusedKey("a/.."),
  refusedKey("a/../b"),
  refusedKey("a/.../b"),
  refusedKey("a\n"),
  refusedKey("\na"),
  refusedKey("a\nb"),
  refusedKey("a/b\n"),
  refusedKey("a\r\n"),
  refusedKey("a\rb"),
  refusedKey("..\n"),
  refusedKey("a\u0000"),
  refusedKey("\u0000"),
  ...FOREIGN_CHARACTERS.map((character) => refusedKey(`k${character}k`)),
  refusedKey("a b"),
  refusedKey(" a"),
  refusedKey("a\t"),
  refusedKey("a\\b"),
  refusedKey("C:"),
  refusedKey("a:b"),
  refusedKey("a*"),
  refusedKey("~"),
  refusedKey("a%2fb"),
  refusedKey("\u00e9.typ"),
  refusedKey("e\u0301.typ"),
  refusedKey("\u212a.typ"),
  refusedKey("\uff0e\uff0e/a"),
  refusedKey("a\u2028"),
  refusedKey("\ud83d\ude00"),
  refusedKey("a\u202egpj.exe"),
  acceptedKeys("a", "b"),
  acceptedKeys("ab", "a/b"),
  acceptedKeys("a/b", "a/c", "a.b"),
  acceptedKeys("a", "a."),
  acceptedKeys("a.", "a-", "a_"),
  acceptedKeys("a-/c", "a./c", "ab", "a0/c"),
  acceptedKeys("lib/x.typ", "library/x.typ"),
  refusedSet("case_collision", "a", "A"),
  refusedSet("case_collision", "README.md", "readme.MD"),
  refusedSet("case_collision", "lib/x.typ", "LIB/x.typ"),
  refusedSet("case_collision", "b", "a/k", "a/K"),
  ...[..."ABCDEFGHIJKLMNOPQRSTUVWXYZ"].map((letter) => refusedSet("case_collision", letter, letter.toLowerCase())),
  refusedSet("ancestor_collision", "lib", "lib/x.typ"),
  // Sorted by bytes, neither of these has the file beside what lies below it.
  refusedSet("ancestor_collision", "a", "a.b", "a/c"),
  refusedSet("ancestor_collision", "a", "a-b", "a.b", "a/c"),
  refusedSet("ancestor_collision", "a/b", "a/b-", "a/b.c/d", "a/b/c"),
  refusedSet("ancestor_collision", "Z", "z/a"),
  refusedSet("ancestor_collision", "lib/x.typ", "lib"),
  refusedSet("ancestor_collision", "lib", "LIB/x.typ"),
  refusedSet("ancestor_collision", "a/b", "a/b/c/d"),
  refusedSet("ancestor_collision", "A/B", "a/b/c/d"),
  refusedSet("case_collision", "a/b", "a", "A"),
  acceptedKeys(...shortKeys(MAX_KEYS)),
  refusedSet("too_many_keys", ...shortKeys(MAX_KEYS + 1)),
  // Whoever looks for collisions first says something else.
  refusedSet("too_many_keys", ...shortKeys(MAX_KEYS), "A"),
  refusedSet("too_many_keys", ...shortKeys(MAX_KEYS), "a/b"),
  refusedSet("case_collision", "lib", "lib/x", "LIB/X"),
];

function acceptedOutput(output: Record<string, unknown>): OutputVector {
  return { output, accepted: true, code: null, rule: null };
}

function refusedOutput(output: Record<string, unknown>, code: ProblemCode = "invalid_request"): OutputVector {
  return { output, accepted: false, code, rule: null };
}

function refusedByRule(rule: OutputRuleId, output: Record<string, unknown>): OutputVector {
  return { output, accepted: false, code: "invalid_request", rule };
}

const pdf = (fields: Record<string, unknown>) => ({ format: "pdf", ...fields });
const png = (fields: Record<string, unknown>) => ({ format: "png", ...fields });
const svg = (fields: Record<string, unknown>) => ({ format: "svg", ...fields });

const PROFILES = Object.entries(PDF_A_VERSION);
const selections = (count: number) => Array.from({ length: count }, () => "1").join(",");

/** Every PDF/A profile alone, with `ua-1` and with each version. */
function profileVectors(): OutputVector[] {
  return PROFILES.flatMap(([profile, required]) => [
    acceptedOutput(pdf({ standards: [profile] })),
    ...PDF_VERSIONS.map((version) =>
      version === required
        ? acceptedOutput(pdf({ standards: [profile], version }))
        : refusedByRule("version_conflicts_with_standard", pdf({ standards: [profile], version })),
    ),
    required === "2.0"
      ? refusedByRule("ua_1_with_pdf_a_4", pdf({ standards: [profile, "ua-1"] }))
      : acceptedOutput(pdf({ standards: [profile, "ua-1"] })),
  ]);
}

/** `pages` with each standard: refused exactly where the standard requires tags. */
function taggingVectors(): OutputVector[] {
  const tagged = ["ua-1", "a-1a", "a-2a", "a-3a"];
  return PDF_STANDARDS.map((standard) => {
    const output = pdf({ standards: [standard], pages: "1" });
    return tagged.includes(standard) ? refusedByRule("pages_with_tagged_standard", output) : acceptedOutput(output);
  });
}

/** Values of `pages` that break the rules of its text, and each two of them. */
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

/** Fields that break one rule over several fields each, the earlier before the later. */
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

/** For each two rules that one output can break: both broken, the earlier reported. */
function pairVectors(): OutputVector[] {
  const withPages = BROKEN_PAGES.flatMap(([rule, pages]) => [
    refusedByRule(rule, pdf({ pages })),
    ...BROKEN_PDF_FIELDS.map(([, fields]) => refusedByRule(rule, pdf({ ...fields, pages }))),
    ...BROKEN_IMAGE_FIELDS.map(([, fields]) => refusedByRule(rule, png({ ...fields, pages }))),
  ]);
  const tagged = BROKEN_PDF_FIELDS.filter(([rule]) => rule !== "pages_with_tagged_standard");
  return [
    ...withPages,
    // Two standards at most: duplicates are two of one profile, or `ua-1` twice.
    refusedByRule("duplicate_standards", pdf({ standards: ["a-2b", "a-2b"], version: "1.4" })),
    refusedByRule("duplicate_standards", pdf({ standards: ["ua-1", "ua-1"], version: "2.0" })),
    refusedByRule("duplicate_standards", pdf({ standards: ["ua-1", "ua-1"], pages: "1" })),
    refusedByRule("duplicate_standards", pdf({ standards: ["a-4", "a-4"], version: "1.7" })),
    refusedByRule("multiple_pdf_a_standards", pdf({ standards: ["a-2b", "a-3b"], version: "1.4" })),
    refusedByRule("multiple_pdf_a_standards", pdf({ standards: ["a-1b", "a-2b"], version: "1.7" })),
    refusedByRule("multiple_pdf_a_standards", pdf({ standards: ["a-2b", "a-3a"], pages: "1" })),
    refusedByRule("ua_1_with_pdf_a_4", pdf({ standards: ["ua-1", "a-4"], version: "1.7" })),
    refusedByRule("ua_1_with_pdf_a_4", pdf({ standards: ["a-4e", "ua-1"], pages: "1" })),
    refusedByRule("version_conflicts_with_standard", pdf({ standards: ["a-2b", "ua-1"], version: "1.6" })),
    refusedByRule("version_conflicts_with_standard", pdf({ standards: ["ua-1", "a-1a"], version: "1.5" })),
    refusedByRule("version_conflicts_with_standard", pdf({ standards: ["ua-1", "a-2b"], version: "2.0" })),
    refusedByRule("version_conflicts_with_standard", pdf({ standards: ["a-2a"], version: "1.4", pages: "1" })),
    refusedByRule("ua_1_with_pdf_2_0", pdf({ standards: ["ua-1"], version: "2.0", pages: "1" })),
    ...tagged.map(([rule, fields]) => refusedByRule(rule, pdf(fields))),
    // The standard that asks for tags may be the second one.
    refusedByRule("pages_with_tagged_standard", pdf({ standards: ["a-2b", "ua-1"], pages: "1" })),
    refusedByRule("pages_with_tagged_standard", pdf({ standards: ["ua-1", "a-3b"], pages: "1" })),
    refusedByRule("pages_with_tagged_standard", pdf({ standards: ["a-2a"], pages: "1-" })),
  ];
}

/** Each output once: some vectors are made twice, by hand and by a table. */
function distinct(vectors: readonly OutputVector[]): OutputVector[] {
  return [...new Map(vectors.map((vector) => [JSON.stringify(vector.output), vector])).values()];
}

export const OUTPUT_VECTORS: readonly OutputVector[] = distinct([
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
  acceptedOutput(svg({ filename: "figure.svg" })),
  acceptedOutput(svg({ archive: "zip", pages: "2-" })),

  refusedOutput({ format: "html" }, "unsupported_format"),
  refusedOutput({ format: "PDF" }, "unsupported_format"),
  refusedOutput({ format: "" }, "unsupported_format"),
  refusedOutput({ format: null }),
  refusedOutput({ format: 1 }),
  refusedOutput({ page: 1 }),
  refusedOutput(pdf({ page: 1 })),
  refusedOutput(pdf({ archive: "zip" })),
  refusedOutput(pdf({ ppi: 144 })),
  refusedOutput(pdf({ colour: "grey" })),
  refusedOutput(pdf({ filename: 1 })),
  refusedOutput(pdf({ version: "1.3" })),
  refusedOutput(pdf({ version: "1.8" })),
  refusedOutput(pdf({ version: "2.1" })),
  refusedOutput(pdf({ version: "1" })),
  refusedOutput(pdf({ version: "" })),
  refusedOutput(pdf({ version: 1.7 })),
  refusedOutput(pdf({ standards: null })),
  refusedOutput(pdf({ standards: "a-2b" })),
  refusedOutput(pdf({ standards: ["a-5"] })),
  refusedOutput(pdf({ standards: ["a-2b", "ua-1", "a-3b"] })),
  refusedOutput(pdf({ pages: 1 })),
  refusedOutput(png({ version: "1.7" })),
  refusedOutput(png({ standards: [] })),
  refusedOutput(png({ ppi: PPI.min_ppi - 1 })),
  refusedOutput(png({ ppi: PPI.max_ppi + 1 })),
  refusedOutput(png({ ppi: 72.5 })),
  refusedOutput(png({ ppi: null })),
  refusedOutput(png({ ppi: "144" })),
  refusedOutput(png({ page: 0 })),
  refusedOutput(png({ page: -1 })),
  refusedOutput(png({ page: 1.5 })),
  refusedOutput(png({ archive: "tar" })),
  refusedOutput(png({ archive: true })),
  refusedOutput(svg({ ppi: 144 })),
  refusedOutput(svg({ version: "1.7" })),
  refusedOutput(svg({ standards: ["a-2b"] })),
  // What no rule names goes first.
  refusedOutput(svg({ ppi: 144, pages: "1" })),

  // 51 times five characters and one more: exactly the limit.
  acceptedOutput(pdf({ pages: `${"1234,".repeat(51)}1` })),
  refusedByRule("page_selection_too_long", pdf({ pages: "1".repeat(PAGE_SELECTION.max_length + 1) })),
  refusedByRule("page_selection_malformed", pdf({ pages: "1".repeat(PAGE_SELECTION.max_length) })),
  // Characters are code points: these are 512 UTF-16 units and still not too long.
  refusedByRule("page_selection_malformed", pdf({ pages: "\u{1f4c4}".repeat(PAGE_SELECTION.max_length) })),
  refusedByRule("page_selection_too_long", pdf({ pages: "\u{1f4c4}".repeat(PAGE_SELECTION.max_length + 1) })),
  acceptedOutput(pdf({ pages: selections(PAGE_SELECTION.max_selections) })),
  refusedByRule("page_selection_too_many_segments", pdf({ pages: selections(PAGE_SELECTION.max_selections + 1) })),
  refusedByRule("page_selection_too_many_segments", pdf({ pages: ",".repeat(PAGE_SELECTION.max_selections) })),
  acceptedOutput(pdf({ pages: "999999999" })),
  ...[
    "",
    "0",
    "01",
    "1000000000",
    "-1",
    "-",
    "1--2",
    "1-2-3",
    "1,",
    ",1",
    "1,,2",
    " 1",
    "1 ",
    "1 - 2",
    "1;2",
    "a",
    "1\n",
    "+1",
    "1.0",
    "\u0661",
    "1-01",
    "1-0",
    "1-1000000000",
    "1-+2",
    "1-end",
    "1:2",
    "1..2",
    "1\u20132",
    "1 -2",
    "1- 2",
    "1, 2",
    "1\t",
    "1\n,2",
    "1e1",
    "0x1",
    "1_0",
    "\uff11",
  ].map((pages) => refusedByRule("page_selection_malformed", pdf({ pages }))),
  acceptedOutput(pdf({ pages: "2-2" })),
  // By number, not by text: "10" comes before "9" there.
  acceptedOutput(pdf({ pages: "1-10" })),
  acceptedOutput(pdf({ pages: "9-10" })),
  acceptedOutput(pdf({ pages: "1-999999999" })),
  acceptedOutput(pdf({ pages: "999999999-" })),
  acceptedOutput(pdf({ pages: "5,2,2-3,1-" })),
  refusedByRule("page_range_end_precedes_start", pdf({ pages: "5-2,1" })),
  refusedByRule("page_range_end_precedes_start", pdf({ pages: "100-99" })),
  refusedByRule("page_range_end_precedes_start", pdf({ pages: "3-2" })),
  refusedByRule("page_range_end_precedes_start", pdf({ pages: "1,10-9" })),
  refusedByRule("page_selection_malformed", png({ pages: "x" })),

  acceptedOutput(pdf({ standards: ["ua-1"] })),
  ...PDF_VERSIONS.filter((version) => version !== "2.0").map((version) =>
    acceptedOutput(pdf({ standards: ["ua-1"], version })),
  ),
  refusedByRule("ua_1_with_pdf_2_0", pdf({ standards: ["ua-1"], version: "2.0" })),
  acceptedOutput(pdf({ standards: ["ua-1", "a-2a"] })),
  refusedByRule("duplicate_standards", pdf({ standards: ["a-2b", "a-2b"] })),
  refusedByRule("duplicate_standards", pdf({ standards: ["ua-1", "ua-1"] })),
  refusedByRule("multiple_pdf_a_standards", pdf({ standards: ["a-2b", "a-3b"] })),
  refusedByRule("multiple_pdf_a_standards", pdf({ standards: ["a-4", "a-4f"] })),
  refusedByRule("ua_1_with_pdf_a_4", pdf({ standards: ["ua-1", "a-4"], version: "2.0" })),
  refusedByRule("version_conflicts_with_standard", pdf({ standards: ["ua-1", "a-2a"], version: "2.0" })),
  ...profileVectors(),
  ...taggingVectors(),

  refusedByRule("pages_requires_archive", png({ pages: "1" })),
  refusedByRule("pages_requires_archive", svg({ pages: "1" })),
  refusedByRule("pages_requires_archive", png({ pages: "1", page: 1 })),
  refusedByRule("page_with_archive", png({ page: 1, archive: "zip" })),
  refusedByRule("page_with_archive", svg({ page: 1, pages: "1", archive: "zip" })),
  ...pairVectors(),
]);
