/** Which problems the playground shows at which field. The verdict comes from the rules. */
import { describe, expect, it } from "vitest";
import { findingsOf, jsonErrorOffset, validateDraft } from "../../../../clients/playground/checks/findings.ts";
import { type Draft, draftFile, FileContent, requestBody } from "../../../../clients/playground/drafts/draft.ts";
import { DEFAULT_LIMITS } from "../../../../rules/limits.ts";
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
  it.each<[string, Partial<Draft>, object]>([
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
  ])("is at its field: %s", (_, draft, place) => {
    expect(findings(draft)).toEqual([place]);
  });

  it.each<[string, Partial<Draft>, Partial<typeof DEFAULT_LIMITS>, object]>([
    ["the template", { source: "12345" }, { max_template_source_bytes: 4 }, { field: "source" }],
    [
      "a file",
      { files: [file("a"), file("b", "12345")] },
      { max_inline_file_bytes: 4 },
      { field: "files", keys: ["b"] },
    ],
    [
      "the number of files",
      { files: [file("a"), file("b")] },
      { effective_max_files: 1 },
      { field: "files", keys: [] },
    ],
    [
      "the whole request",
      { files: [file("a", "x".repeat(500))] },
      { max_request_body_bytes: 500 },
      { field: "files", keys: [] },
    ],
    ["a string in data", { data: '{"a":["12345"]}' }, { max_string_bytes: 4 }, { field: "data", path: ["a", 0] }],
    [
      "the pages of an archive",
      { output: { format: "png", members: { archive: '"zip"', pages: '"1-3"' } } },
      { max_output_files: 2 },
      { field: "pages" },
    ],
  ])("is at the part that exceeds a limit of the deployment: %s", (_, draft, limits, place) => {
    expect(findings(draft)).toEqual([]);
    expect(findings(draft, { ...DEFAULT_LIMITS, ...limits })).toEqual([place]);
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
    expect(jsonErrorOffset(data)).toBe(offset);
    const verdict = validateDraft({ ...VALID, data }, DEFAULT_LIMITS);
    expect(verdict).toMatchObject({ ok: false, problem: null, findings: [{ place: { field: "data", offset } }] });
  });
});
