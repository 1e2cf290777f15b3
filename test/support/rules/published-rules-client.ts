/**
 * The rules for keys and `output` once more, written from the published documents and not from `rules/`. Every number,
 * list and step is a parameter of the slow validator, so that tests can make the mistakes that implementers make.
 */

export type KeyRules = typeof KEY_RULES;

const SET_RULES: readonly ("too_many_keys" | "case_collision" | "ancestor_collision")[] = [
  "too_many_keys",
  "case_collision",
  "ancestor_collision",
];

export const KEY_RULES = {
  isCharacter: (character: string) => /^[A-Za-z0-9._-]$/.test(character) && character !== "\n",
  maxSegmentLength: 255,
  maxKeyLength: 512,
  isOnlyDots: (segment: string) => /^\.+$/.test(segment),
  maxKeys: 1024,
  fold: (key: string) => key.toLowerCase(),
  /** Whether a file of this name is a directory of the key. */
  isAncestor: (file: string, key: string) => key.startsWith(`${file}/`),
  order: SET_RULES,
};

/** The first key that collides with another. */
export function findCollision(
  rule: "case_collision" | "ancestor_collision",
  keys: readonly string[],
  rules: KeyRules,
): string | undefined {
  const folded = keys.map(rules.fold);
  const isHit = {
    case_collision: (key: string, index: number) => folded.indexOf(key) < index,
    ancestor_collision: (key: string) => folded.some((other) => rules.isAncestor(key, other)),
  }[rule];
  return keys[folded.findIndex(isHit)];
}

export function isValidKeySlowly(key: string, rules: KeyRules): boolean {
  if (key.length > rules.maxKeyLength) return false;
  return key.split("/").every((segment) => {
    if (segment === "" || segment.length > rules.maxSegmentLength) return false;
    return [...segment].every(rules.isCharacter) && !rules.isOnlyDots(segment);
  });
}

type Output = Readonly<Record<string, unknown>>;

interface OutputRule {
  readonly id: string;
  /** Where an error points. */
  readonly field: string;
  readonly isBroken: (output: Output, rules: typeof VALUES) => boolean;
}

const pagesOf = (output: Output): string | null => (typeof output.pages === "string" ? output.pages : null);
const selectionsOf = (output: Output): readonly string[] => pagesOf(output)?.split(",") ?? [];
const standardsOf = (output: Output): readonly unknown[] => (Array.isArray(output.standards) ? output.standards : []);
const profilesOf = (output: Output, { pdfAVersion }: typeof VALUES): string[] =>
  standardsOf(output)
    .map(String)
    .filter((standard) => standard in pdfAVersion);
const hasOneOf = (output: Output, standards: readonly string[]) =>
  standards.some((standard) => standardsOf(output).includes(standard));
const isImage = ({ format }: Output) => format === "png" || format === "svg";
const isGiven = (value: unknown) => value !== undefined && value !== null;

const FIELDS: Readonly<Record<string, readonly string[]>> = {
  pdf: ["format", "filename", "version", "standards", "pages"],
  png: ["format", "filename", "page", "pages", "archive", "ppi"],
  svg: ["format", "filename", "page", "pages", "archive"],
};
const PDF_A_VERSION: Readonly<Record<string, string>> = {
  ...{ "a-1b": "1.4", "a-1a": "1.4", "a-2b": "1.7", "a-2u": "1.7", "a-2a": "1.7" },
  ...{ "a-3b": "1.7", "a-3u": "1.7", "a-3a": "1.7", "a-4": "2.0", "a-4f": "2.0", "a-4e": "2.0" },
};

/** What the rules are made of. */
const VALUES = {
  formats: ["pdf", "png", "svg"],
  defaultFormat: "pdf",
  fields: FIELDS,
  nullable: ["filename", "version", "page", "pages", "archive"],
  versions: ["1.4", "1.5", "1.6", "1.7", "2.0"],
  standards: ["a-1b", "a-1a", "a-2b", "a-2u", "a-2a", "a-3b", "a-3u", "a-3a", "a-4", "a-4f", "a-4e", "ua-1"],
  maxStandards: 2,
  archives: ["zip"],
  minPage: 1,
  minPpi: 1,
  maxPpi: 300,
  isInteger: (value: number) => Number.isInteger(value),
  maxLength: 256,
  lengthOf: (pages: string) => [...pages].length,
  maxSelections: 64,
  selection: /^[1-9][0-9]{0,8}(?:-(?:[1-9][0-9]{0,8})?)?$/,
  isBackwards: (first: string, last: string) => Number(last) < Number(first),
  pdfAVersion: PDF_A_VERSION,
  taggedStandards: ["ua-1", "a-1a", "a-2a", "a-3a"],
  pdfA4Standards: ["a-4", "a-4f", "a-4e"],
};

const rule = (id: string, field: string, isBroken: OutputRule["isBroken"]): OutputRule => ({ id, field, isBroken });

const RULES: readonly OutputRule[] = [
  rule("page_selection_too_long", "pages", (output, rules) => rules.lengthOf(pagesOf(output) ?? "") > rules.maxLength),
  rule(
    "page_selection_too_many_segments",
    "pages",
    (output, rules) => selectionsOf(output).length > rules.maxSelections,
  ),
  rule("page_selection_malformed", "pages", (output, rules) =>
    selectionsOf(output).some((selection) => !rules.selection.test(selection)),
  ),
  rule("page_range_end_precedes_start", "pages", (output, rules) =>
    selectionsOf(output).some((selection) => {
      const [first = "", last = ""] = selection.split("-");
      return last !== "" && rules.isBackwards(first, last);
    }),
  ),
  rule("duplicate_standards", "standards", (output) => new Set(standardsOf(output)).size < standardsOf(output).length),
  rule("multiple_pdf_a_standards", "standards", (output, rules) => profilesOf(output, rules).length > 1),
  rule(
    "ua_1_with_pdf_a_4",
    "standards",
    (output, rules) => hasOneOf(output, ["ua-1"]) && hasOneOf(output, rules.pdfA4Standards),
  ),
  rule(
    "version_conflicts_with_standard",
    "version",
    (output, rules) =>
      isGiven(output.version) &&
      profilesOf(output, rules).some((profile) => rules.pdfAVersion[profile] !== output.version),
  ),
  rule("ua_1_with_pdf_2_0", "version", (output) => hasOneOf(output, ["ua-1"]) && output.version === "2.0"),
  rule(
    "pages_with_tagged_standard",
    "pages",
    (output, rules) => pagesOf(output) !== null && hasOneOf(output, rules.taggedStandards),
  ),
  rule(
    "pages_requires_archive",
    "pages",
    (output) => isImage(output) && isGiven(output.pages) && !isGiven(output.archive),
  ),
  rule("page_with_archive", "page", (output) => isImage(output) && isGiven(output.page) && isGiven(output.archive)),
];

export const OUTPUT_RULES = { ...VALUES, rules: RULES };
export type OutputRules = typeof OUTPUT_RULES;

/** The first rule that an output of valid fields breaks. */
export function brokenOutputRule(output: Output, rules: OutputRules): OutputRule | undefined {
  return rules.rules.find(({ isBroken }) => isBroken(output, rules));
}
