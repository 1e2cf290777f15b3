/**
 * The published documents against docs/api.md: its members, its tables and the files that are checked in.
 */
import { readFile } from "node:fs/promises";
import { describe, expect, it } from "vitest";
import {
  constraintsDocument,
  ERROR_CODES_DOCUMENT,
  FILES_KEY_RULES_DOCUMENT,
  OUTPUT_RULES_DOCUMENT,
  STATIC_DOCUMENTS,
} from "../../rules/constraints.ts";
import { DEFAULT_LIMITS, type Limits } from "../../rules/limits.ts";
import { methodNotAllowed, notFound, problem, problemDocument, serviceUnavailable } from "../../rules/problem.ts";
import { CONTRACT } from "../support/contract.ts";
import { limitsWith } from "../support/rules/limits-for-tests.ts";

/** A JSON value: what a client gets of a document. */
type Json = string | number | boolean | null | Json[] | { [member: string]: Json };

function asJson(document: unknown): Json {
  return JSON.parse(JSON.stringify(document));
}

async function staticDocument(name: string): Promise<Json> {
  return JSON.parse(await readFile(new URL(`../../static/${name}`, import.meta.url), "utf8"));
}

/** The value at a dotted path; `[]` stands for the items of an array, all of which are given. */
function valuesAt(document: Json, path: string): (Json | undefined)[] {
  let values: (Json | undefined)[] = [document];
  for (const segment of path.split(".")) {
    values = values.flatMap((value) => {
      if (segment === "[]") return Array.isArray(value) ? value : [undefined];
      const isObject = typeof value === "object" && value !== null && !Array.isArray(value);
      return [isObject && Object.hasOwn(value, segment) ? value[segment] : undefined];
    });
  }
  return values;
}

type Kind = "string" | "integer" | "boolean" | "array" | "object" | "string or null";

function kindOf(value: Json | undefined): string {
  if (Array.isArray(value)) return "array";
  if (value === null) return "null";
  return typeof value === "number" && Number.isInteger(value) ? "integer" : typeof value;
}

/** The limits of docs/api.md#limits with their defaults. */
const DOCUMENTED_LIMITS = {
  effective_max_files: 64,
  max_inline_files: 64,
  max_inline_file_bytes: 1_048_576,
  max_template_source_bytes: 524_288,
  max_string_bytes: 1_048_576,
  max_request_body_bytes: 20_971_520,
  max_output_bytes: 52_428_800,
  max_output_files: 64,
} satisfies Limits;

/** docs/api.md#constraints, member by member. */
const FILES_MEMBERS: readonly [path: string, kind: Kind][] = [
  ["rules_version", "integer"],
  ["key_pattern", "string"],
  ["key_pattern_flavour", "string"],
  ["segment_character_class", "string"],
  ["min_segment_length", "integer"],
  ["max_segment_length", "integer"],
  ["segments_may_not_be_only_dots", "boolean"],
  ["min_key_length", "integer"],
  ["max_key_length", "integer"],
  ["max_keys", "integer"],
  ["case_sensitivity", "string"],
  ["set_rules", "array"],
  ["set_rules.[].id", "string"],
  ["set_rules.[].error_code", "string"],
  ["set_rules.[].description", "string"],
  ["conformance_vectors", "array"],
  ["conformance_vectors.[].keys", "array"],
  ["conformance_vectors.[].accepted", "boolean"],
  ["conformance_vectors.[].code", "string or null"],
  ["conformance_vectors.[].rule", "string or null"],
];
const OUTPUT_MEMBERS: readonly [path: string, kind: Kind][] = [
  ["output_rules_version", "integer"],
  ["formats", "array"],
  ["formats.[]", "string"],
  ["pdf", "object"],
  ["pdf.formats", "array"],
  ["pdf.formats.[]", "string"],
  ["pdf.versions", "array"],
  ["pdf.versions.[]", "string"],
  ["pdf.standards", "array"],
  ["pdf.standards.[]", "string"],
  ["pdf.max_standards", "integer"],
  ["pdf.pdf_a_version", "object"],
  ["pdf.tagged_standards", "array"],
  ["pdf.tagged_standards.[]", "string"],
  ["pdf.pdf_a_4_standards", "array"],
  ["pdf.pdf_a_4_standards.[]", "string"],
  ["image", "object"],
  ["image.formats", "array"],
  ["image.formats.[]", "string"],
  ["image.archives", "array"],
  ["image.archives.[]", "string"],
  ["image.min_page", "integer"],
  ["image.png", "object"],
  ["image.png.min_ppi", "integer"],
  ["image.png.max_ppi", "integer"],
  ["image.png.default_ppi", "integer"],
  ["page_selection", "object"],
  ["page_selection.max_length", "integer"],
  ["page_selection.max_length_unit", "string"],
  ["page_selection.max_selections", "integer"],
  ["page_selection.selection_pattern", "string"],
  ["page_selection.selection_pattern_flavour", "string"],
  ["page_selection.selection_pattern_matches_whole_selection", "boolean"],
  ["page_selection.open_range_page_count", "integer"],
  ["rule_evaluation", "string"],
  ["rules", "array"],
  ["rules.[].id", "string"],
  ["rules.[].error_code", "string"],
  ["rules.[].description", "string"],
  ["conformance_vectors", "array"],
  ["conformance_vectors.[].output", "object"],
  ["conformance_vectors.[].accepted", "boolean"],
  ["conformance_vectors.[].code", "string or null"],
  ["conformance_vectors.[].rule", "string or null"],
];
const MEMBERS: readonly [path: string, kind: Kind][] = [
  ...FILES_MEMBERS,
  ["limits", "object"],
  ...Object.keys(DOCUMENTED_LIMITS).map((name): [string, Kind] => [`limits.${name}`, "integer"]),
  ["output_rules", "object"],
  ...OUTPUT_MEMBERS.map(([path, kind]): [string, Kind] => [`output_rules.${path}`, kind]),
];

describe("the constraints document", () => {
  const document = asJson(constraintsDocument(DEFAULT_LIMITS));

  it.each(MEMBERS)("has %s: %s", (path, kind) => {
    const values = valuesAt(document, path);
    expect(values).not.toHaveLength(0);
    for (const value of values) expect(kind.split(" or ")).toContain(kindOf(value));
  });

  it("states the constants of docs/api.md#constraints", () => {
    expect(document).toMatchObject({
      rules_version: 5,
      key_pattern_flavour: "pcre",
      max_keys: 1024,
      output_rules: {
        formats: ["pdf", "png", "svg"],
        pdf: {
          versions: ["1.4", "1.5", "1.6", "1.7", "2.0"],
          standards: ["a-1b", "a-1a", "a-2b", "a-2u", "a-2a", "a-3b", "a-3u", "a-3a", "a-4", "a-4f", "a-4e", "ua-1"],
          max_standards: 2,
          pdf_a_4_standards: ["a-4", "a-4f", "a-4e"],
          tagged_standards: ["ua-1", "a-1a", "a-2a", "a-3a"],
        },
        image: { archives: ["zip"], min_page: 1, png: { min_ppi: 1, max_ppi: 300, default_ppi: 144 } },
        page_selection: {
          max_length: 256,
          max_selections: 64,
          selection_pattern_flavour: "pcre",
          selection_pattern_matches_whole_selection: true,
          open_range_page_count: 1,
        },
      },
    });
  });

  it("states the default limits of docs/api.md#limits", () => {
    expect(constraintsDocument(DEFAULT_LIMITS).limits).toEqual(DOCUMENTED_LIMITS);
  });

  it.each([0, 1, 64, 1023, 1024, 1025, 100_000])(
    "takes the smaller of max_keys and %i as effective_max_files",
    (configured) => {
      const { max_keys, limits } = constraintsDocument(limitsWith({ max_inline_files: configured }));
      expect(max_keys).toBe(1024);
      expect(limits).toMatchObject({ max_inline_files: configured, effective_max_files: Math.min(1024, configured) });
    },
  );

  it("lists the set rules in the order of docs/api.md#set-rules", () => {
    expect(valuesAt(document, "set_rules.[].id")).toEqual(["too_many_keys", "case_collision", "ancestor_collision"]);
  });

  it("lists the output rules in the order of docs/api.md#output-rules, each answered by invalid_request", () => {
    expect(valuesAt(document, "output_rules.rules.[].id")).toEqual([
      "page_selection_too_long",
      "page_selection_too_many_segments",
      "page_selection_malformed",
      "page_range_end_precedes_start",
      "duplicate_standards",
      "multiple_pdf_a_standards",
      "ua_1_with_pdf_a_4",
      "version_conflicts_with_standard",
      "ua_1_with_pdf_2_0",
      "pages_with_tagged_standard",
      "pages_requires_archive",
      "page_with_archive",
    ]);
    expect(new Set(valuesAt(document, "output_rules.rules.[].error_code"))).toEqual(new Set(["invalid_request"]));
  });

  it("governs every format by exactly one of pdf and image", () => {
    const { formats, pdf, image } = constraintsDocument(DEFAULT_LIMITS).output_rules;
    expect([...pdf.formats, ...image.formats].toSorted()).toEqual([...formats].toSorted());
  });

  it("gives a version to every standard but ua-1", () => {
    const { standards, pdf_a_version, versions } = OUTPUT_RULES_DOCUMENT.pdf;
    expect(Object.keys(pdf_a_version)).toEqual(standards.filter((standard) => standard !== "ua-1"));
    for (const version of Object.values(pdf_a_version)) expect(versions).toContain(version);
  });

  it("answers no member differently for other limits but limits", () => {
    const { limits: _low, ...rules } = constraintsDocument(limitsWith({ max_inline_files: 1, max_output_files: 2 }));
    const { limits: _default, ...defaultRules } = constraintsDocument(DEFAULT_LIMITS);
    expect(rules).toEqual(defaultRules);
  });
});

describe("the static documents", () => {
  it.each(Object.entries(STATIC_DOCUMENTS))("%s is checked in as it is served", async (name, document) => {
    expect(await staticDocument(name)).toEqual(asJson(document));
  });

  it("output-rules.json is output_rules of the constraints document", async () => {
    expect(await staticDocument("output-rules.json")).toEqual(asJson(constraintsDocument(DEFAULT_LIMITS).output_rules));
  });

  it("files-key-rules.json is the constraints document without limits and output rules", async () => {
    const { limits: _limits, output_rules: _rules, ...files } = constraintsDocument(DEFAULT_LIMITS);
    expect(await staticDocument("files-key-rules.json")).toEqual(asJson(files));
    for (const [path] of FILES_MEMBERS)
      expect(valuesAt(asJson(FILES_KEY_RULES_DOCUMENT), path)).not.toContain(undefined);
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

  it("gives each code a title and a cause of its own", () => {
    for (const member of ["title", "cause"] as const) {
      const texts = ERROR_CODES_DOCUMENT.codes.map((entry) => entry[member]);
      expect(new Set(texts).size).toBe(Object.keys(CONTRACT).length);
      expect(texts).not.toContain("");
    }
  });
});

describe("a problem of a route", () => {
  it.each([
    [notFound(), "not_found", /path/],
    [methodNotAllowed("GET, HEAD"), "method_not_allowed", /GET, HEAD/],
    [serviceUnavailable("draining"), "service_unavailable", /cannot take/],
  ])("has its code and no context: %j", (found, code, detail) => {
    expect(found).toEqual({ code, detail: expect.stringMatching(detail), context: {} });
  });
});

describe("a problem document", () => {
  it("has every member of docs/api.md#errors", () => {
    const document = problemDocument(
      problem("render_timeout", "Too slow.", { timeout_secs: 30 }),
      "https://a.example/b#c",
    );
    expect(document).toEqual({
      code: "render_timeout",
      origin: "request",
      title: "Render timeout",
      status: 408,
      detail: "Too slow.",
      instance: "https://a.example/b#c",
      context: { timeout_secs: 30 },
    });
  });
});
