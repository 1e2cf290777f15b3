/** Which problems the playground shows at which field. The verdict comes from the rules. */
import { describe, expect, it } from "vitest";
import { findingsOf, validateDraft } from "../../../../clients/playground/checks/findings.ts";
import { type Draft, draftFile, FileContent, requestBody } from "../../../../clients/playground/drafts/draft.ts";
import { DEFAULT_LIMITS, type Limits } from "../../../../rules/limits.ts";
import { parseRenderRequest } from "../../../../rules/render-request.ts";

const VALID: Draft = { source: "= Hello", data: '{"a": [1]}', files: [], output: { format: "pdf", members: {} } };

const file = (key: string, content = "x") => draftFile(key, new FileContent(content));

function findings(draft: Partial<Draft>, limits = DEFAULT_LIMITS) {
  const verdict = validateDraft({ ...VALID, ...draft }, limits);
  return verdict.ok ? [] : verdict.findings.map(({ place }) => place);
}

describe("a valid draft", () => {
  it("makes a body that the service accepts, with data as it was written", () => {
    const draft = { ...VALID, data: " [9007199254740993, 1.50] \n" };
    const body = requestBody(draft);
    expect(body).toContain('"data":[9007199254740993, 1.50]');
    expect(parseRenderRequest(new TextEncoder().encode(body), DEFAULT_LIMITS).ok).toBe(true);
    expect(validateDraft(draft, DEFAULT_LIMITS).ok).toBe(true);
  });

  it("may have no data", () => {
    expect(JSON.parse(requestBody({ ...VALID, data: "  " }))).not.toHaveProperty("data");
    expect(findings({ data: "" })).toEqual([]);
  });
});

describe("a finding", () => {
  it.each<[string, Partial<Draft>, object, Partial<Limits>?]>([
    ["an empty template", { source: "" }, { field: "source" }],
    ["a template with a lone surrogate", { source: "\ud800" }, { field: "source" }],
    [
      "a reserved key in data",
      { data: '{"a":[{"$__toml_private_datetime":"2020-01-01"}]}' },
      { field: "data", path: ["a", 0, "$__toml_private_datetime"] },
    ],
    ["an invalid key", { files: [file("a b"), file("fine")] }, { field: "files", keys: ["a b"] }],
    ["two equal keys", { files: [file("a"), file("a")] }, { field: "files", keys: ["a"] }],
    ["two keys that differ in case", { files: [file("a"), file("A")] }, { field: "files", keys: ["A"] }],
    ["an invalid selection of pages", { output: { format: "pdf", members: { pages: '"x"' } } }, { field: "pages" }],
    ["a resolution that is no number", { output: { format: "png", members: { ppi: '"many"' } } }, { field: "ppi" }],
    [
      "a version that a profile forbids",
      { output: { format: "pdf", members: { version: '"1.4"', standards: '["a-2b"]' } } },
      { field: "version" },
    ],
    [
      "a page with an archive",
      { output: { format: "svg", members: { page: "1", archive: '"zip"' } } },
      { field: "page" },
    ],
    ["a long template", { source: "12345" }, { field: "source" }, { max_template_source_bytes: 4 }],
    ["a large file", { files: [file("b", "12345")] }, { field: "files", keys: ["b"] }, { max_inline_file_bytes: 4 }],
    ["many files", { files: [file("a"), file("b")] }, { field: "files", keys: [] }, { effective_max_files: 1 }],
    [
      "a large request",
      { files: [file("a", "x".repeat(500))] },
      { field: "files", keys: [] },
      { max_request_body_bytes: 500 },
    ],
    ["a string in data", { data: '{"a":["12345"]}' }, { field: "data", path: ["a", 0] }, { max_string_bytes: 4 }],
    [
      "an archive of many pages",
      { output: { format: "png", members: { archive: '"zip"', pages: '"1-3"' } } },
      { field: "pages" },
      { max_output_files: 2 },
    ],
  ])("is at its field: %s", (_, draft, place, lowLimits) => {
    if (lowLimits !== undefined) expect(findings(draft)).toEqual([]);
    expect(findings(draft, { ...DEFAULT_LIMITS, ...lowLimits })).toEqual([place]);
  });

  it("about the output is shown besides one about the files", () => {
    const output = { format: "pdf", members: { pages: '"3-1"' } } as const;
    expect(findings({ files: [file("a b")], output })).toEqual([{ field: "files", keys: ["a b"] }, { field: "pages" }]);
  });

  it("is at the template if the service answers that it does not compile", () => {
    const problem = { code: "template_compile_failed", detail: "No.", context: {} };
    expect(findingsOf(problem, [])).toEqual([{ place: { field: "source" }, message: "No." }]);
    expect(findingsOf({ ...problem, code: "render_queue_full" }, [])).toEqual([]);
    expect(findingsOf({ ...problem, code: "a_later_code" }, [])).toEqual([]);
  });
});

describe("data that is not JSON", () => {
  it.each([
    ['{"a": 1,}', 8],
    ['{"ä": b}', 6],
    ['{"a": 1', 7],
    ['{}, "files": {}', 2],
    ["{}} ", 2],
    ["// {}", 0],
  ])("is reported at its first wrong character and never put into a body: %s", (data, offset) => {
    const verdict = validateDraft({ ...VALID, data }, DEFAULT_LIMITS);
    expect(verdict).toMatchObject({ ok: false, problem: null, findings: [{ place: { field: "data", offset } }] });
  });
});
