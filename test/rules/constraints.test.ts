/** The published documents against docs/api.md: their constants and their order. */
import { describe, expect, it } from "vitest";
import { constraintsDocument, ERROR_CODES_DOCUMENT, STATIC_DOCUMENTS } from "../../rules/constraints.ts";
import { DEFAULT_LIMITS } from "../../rules/limits.ts";
import { CONTRACT } from "../support/contract.ts";
import { KEY_RULES, OUTPUT_RULES as RULES } from "../support/rules/published-rules-client.ts";

describe("the constraints document", () => {
  const document = constraintsDocument(DEFAULT_LIMITS);

  it("states the constants of docs/api.md#constraints", () => {
    expect(document).toMatchObject({
      rules_version: 5,
      key_pattern_flavour: "pcre",
      max_keys: 1024,
      output_rules: {
        formats: RULES.formats,
        pdf: {
          versions: RULES.versions,
          standards: RULES.standards,
          max_standards: RULES.maxStandards,
          pdf_a_version: RULES.pdfAVersion,
          pdf_a_4_standards: RULES.pdfA4Standards,
          tagged_standards: RULES.taggedStandards,
        },
        image: {
          archives: RULES.archives,
          min_page: RULES.minPage,
          png: { min_ppi: RULES.minPpi, max_ppi: RULES.maxPpi, default_ppi: 144 },
        },
        page_selection: {
          max_length: RULES.maxLength,
          max_selections: RULES.maxSelections,
          selection_pattern_flavour: "pcre",
          selection_pattern_matches_whole_selection: true,
          open_range_page_count: 1,
        },
      },
    });
  });

  it("lists the rules in the order of docs/api.md, each output rule answered by invalid_request", () => {
    const { set_rules, output_rules } = constraintsDocument(DEFAULT_LIMITS);
    expect(set_rules.map(({ id }) => id)).toEqual(KEY_RULES.order);
    expect(output_rules.rules.map(({ id }) => id)).toEqual(RULES.rules.map(({ id }) => id));
    expect(new Set(output_rules.rules.map(({ error_code }) => error_code))).toEqual(new Set(["invalid_request"]));
  });
});

describe("the static documents", () => {
  it("output-rules.json is output_rules of the constraints document", () => {
    expect(STATIC_DOCUMENTS["output-rules.json"]).toEqual(constraintsDocument(DEFAULT_LIMITS).output_rules);
  });

  it("files-key-rules.json is the constraints document without limits and output rules", () => {
    const { limits: _limits, output_rules: _rules, ...files } = constraintsDocument(DEFAULT_LIMITS);
    expect(STATIC_DOCUMENTS["files-key-rules.json"]).toEqual(files);
  });
});

/** docs/api.md#codes: every code with its status, its origin and the members that its context may have. */
describe("error-codes.json", () => {
  it("lists the codes of docs/api.md#codes and no other, with status, origin, title and context", () => {
    const listed = ERROR_CODES_DOCUMENT.codes.map(({ code, cause: _, context, ...rest }) => [
      code,
      { ...rest, context: context.toSorted() },
    ]);
    const expected = Object.entries(CONTRACT).map(([code, entry]) => [
      code,
      { ...entry, context: entry.context.toSorted() },
    ]);
    expect(listed).toEqual(expected);
  });

  it("lists the four origins", () => {
    expect(Object.keys(ERROR_CODES_DOCUMENT.origins)).toEqual(["request", "template", "capacity", "service"]);
  });

  it("gives each code a title and its own cause", () => {
    for (const member of ["title", "cause"] as const) {
      const texts = ERROR_CODES_DOCUMENT.codes.map((entry) => entry[member]);
      expect(new Set(texts).size).toBe(Object.keys(CONTRACT).length);
      expect(texts).not.toContain("");
    }
  });
});
