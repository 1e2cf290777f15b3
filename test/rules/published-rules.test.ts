/** The library for programs that send requests: the service's verdict, from published constraints alone. */
import { runInNewContext } from "node:vm";
import { describe, expect, it } from "vitest";
import { constraintsDocument } from "../../rules/constraints.ts";
import { DEFAULT_LIMITS } from "../../rules/limits.ts";
import { asConstraints, checkRequest, type PublishedConstraints, runVectors } from "../../rules/published-rules.ts";
import { parseRenderRequest } from "../../rules/render-request.ts";
import { bodyOf } from "../support/rules/bodies.ts";
import { limitsWith } from "../support/rules/limits-for-tests.ts";

const PUBLISHED = constraintsDocument(DEFAULT_LIMITS);

/** Constraints as a client has them: fetched, and so plain JSON. */
function fetched(changes: Readonly<Record<string, unknown>> = {}, limits = DEFAULT_LIMITS): PublishedConstraints {
  const document: Record<string, unknown> = JSON.parse(JSON.stringify(constraintsDocument(limits)));
  const constraints = asConstraints({ ...document, ...changes });
  if (constraints === null) throw new Error("these are no constraints");
  return constraints;
}

describe("a checked request", () => {
  it.each([
    { source: "= Hello" },
    { source: "" },
    { source: "x", files: { "../a": { encoding: "text", content: "" } } },
    { source: "x", files: { a: { encoding: "base64", content: "QQ=" } } },
    { source: "x", output: { format: "html" } },
    { source: "x", output: { version: "1.4", standards: ["a-2b"] } },
    { source: "x".repeat(524_289) },
    "[1,2",
  ])("has the service's own verdict: %j", (request) => {
    const parsed = parseRenderRequest(bodyOf(request), DEFAULT_LIMITS);
    const expected = parsed.ok ? { verdict: "accepted" } : { verdict: "refused", problem: parsed.problem };
    expect(checkRequest(request, fetched())).toEqual(expected);
  });

  it("may be bytes of another realm, such as those of a test in jsdom", () => {
    const bytes = bodyOf({ source: "x" });
    const foreign: unknown = runInNewContext("Uint8Array.from(bytes)", { bytes });
    expect(foreign).not.toBeInstanceOf(Uint8Array);
    expect(checkRequest(foreign, fetched())).toEqual({ verdict: "accepted" });
  });

  it("is checked against the limits of the deployment, not the defaults", () => {
    const constraints = fetched({}, limitsWith({ max_template_source_bytes: 3 }));
    expect(checkRequest({ source: "abc" }, constraints)).toEqual({ verdict: "accepted" });
    expect(checkRequest({ source: "abcd" }, constraints)).toMatchObject({
      problem: { code: "template_source_too_large", context: { size: 4, limit: 3 } },
    });
  });

  it("that is too large is rejected before it is read, as the service does", () => {
    const constraints = fetched({}, limitsWith({ max_request_body_bytes: 1024 }));
    const request = (size: number) => `{"source":"${"x".repeat(size - 13)}"}`;
    expect(checkRequest(request(1024), constraints)).toEqual({ verdict: "accepted" });
    for (const body of [request(1025), bodyOf(request(1025)), " ".repeat(1025)]) {
      expect(checkRequest(body, constraints)).toMatchObject({
        verdict: "refused",
        problem: { code: "request_too_large", context: { limit: 1024, declared_size: 1025 } },
      });
    }
  });
});

describe("a deployment of another version, with other limits", () => {
  it("that lacks a limit accepts what only that limit would reject", () => {
    const { max_template_source_bytes: _absent, ...limits } = PUBLISHED.limits;
    const constraints = fetched({ limits });
    expect(checkRequest({ source: "x".repeat(524_289) }, constraints)).toEqual({ verdict: "accepted" });
    expect(checkRequest({ source: "x", data: "x".repeat(1_048_577) }, constraints)).toMatchObject({
      problem: { code: "string_too_large" },
    });
  });

  it("that limits nothing still has the limits of the rules", () => {
    const constraints = fetched({ limits: { effective_max_files: 1024 } });
    const files = (count: number) =>
      Object.fromEntries(Array.from({ length: count }, (_, index) => [`f${index}`, { encoding: "text", content: "" }]));
    expect(checkRequest({ source: "x", files: files(1024) }, constraints)).toEqual({ verdict: "accepted" });
    expect(checkRequest({ source: "x", files: files(1025) }, constraints)).toMatchObject({
      problem: { code: "invalid_file_data", context: { rule: "too_many_keys" } },
    });
  });
});

describe("a deployment with other rules", () => {
  const vectors = constraintsDocument(DEFAULT_LIMITS).conformance_vectors;

  it("is still checked if every published vector has the same verdict", () => {
    expect(checkRequest({ source: "x" }, fetched({ rules_version: 6 }))).toEqual({ verdict: "accepted" });
  });

  it("is not checked if one vector has another verdict, and that vector is reported", () => {
    const newRule = { keys: ["a b"], accepted: true, code: null, rule: null };
    const constraints = fetched({ rules_version: 6, conformance_vectors: [...vectors, newRule] });
    expect(checkRequest({ source: "x" }, constraints)).toEqual({
      verdict: "unknown",
      disagreements: [
        {
          input: ["a b"],
          published: { accepted: true, code: null, rule: null },
          found: { accepted: false, code: "invalid_template_path", rule: null },
        },
      ],
    });
  });
});

describe("the vectors of a deployment with other output rules", () => {
  const rules = constraintsDocument(DEFAULT_LIMITS).output_rules;
  const withVectors = (version: number, ...vectors: object[]) =>
    fetched({ output_rules: { ...rules, output_rules_version: version, conformance_vectors: vectors } });
  const rejected = { output: { pages: "2-1" }, accepted: false, code: "invalid_request" };
  const rule = "page_range_end_precedes_start";

  it("are not run if both versions are known", () => {
    const constraints = withVectors(rules.output_rules_version, { output: { colour: 1 }, accepted: true });
    expect(checkRequest({ source: "x" }, constraints)).toEqual({ verdict: "accepted" });
  });

  it.each([
    ["in nothing", { ...rejected, rule }, 0],
    ["in the code alone", { ...rejected, rule, code: "unsupported_format" }, 1],
    ["in the rule alone", { ...rejected, rule: "page_selection_malformed" }, 1],
    ["in a rule that is not given", rejected, 1],
    ["in acceptance alone", { ...rejected, rule, accepted: true }, 1],
  ])("may differ %s", (_what, vector, count) => {
    expect(runVectors(withVectors(99, vector))).toHaveLength(count);
  });
});

it.each([
  null,
  [],
  {},
  { rules_version: 5 },
  { ...PUBLISHED, limits: {} },
  { ...PUBLISHED, limits: { ...PUBLISHED.limits, max_output_files: "64" } },
  { ...PUBLISHED, limits: { ...PUBLISHED.limits, max_output_files: undefined } },
  { ...PUBLISHED, rules_version: "5" },
  { ...PUBLISHED, limits: null },
  { ...PUBLISHED, conformance_vectors: {} },
  { ...PUBLISHED, conformance_vectors: [null] },
  { ...PUBLISHED, conformance_vectors: [{ keys: [] }, { keys: "a" }] },
  { ...PUBLISHED, output_rules: null },
  { ...PUBLISHED, output_rules: { ...PUBLISHED.output_rules, output_rules_version: "2" } },
  { ...PUBLISHED, output_rules: { ...PUBLISHED.output_rules, conformance_vectors: null } },
  { ...PUBLISHED, output_rules: { ...PUBLISHED.output_rules, conformance_vectors: [{ output: {} }, { output: 1 }] } },
])("takes no other value for constraints (%#)", (value) => {
  expect(asConstraints(value)).toBeNull();
});
