/** The limits: their defaults, and how many files there may be. What else there is of them: render-request.property.test.ts. */
import { describe, expect, it } from "vitest";
import { DEFAULT_LIMITS, type Limits } from "../../rules/limits.ts";
import { problemOf } from "../support/rules/bodies.ts";
import { limitsWith } from "../support/rules/limits-for-tests.ts";

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

it("the default limits are those of docs/api.md#limits", () => {
  expect(DEFAULT_LIMITS).toEqual(DOCUMENTED_LIMITS);
});

describe("the number of files", () => {
  const files = (count: number) =>
    Object.fromEntries(Array.from({ length: count }, (_, index) => [`f${index}`, { encoding: "text", content: "" }]));
  const validate = (count: number, maxInlineFiles: number) =>
    problemOf({ source: "a", files: files(count) }, limitsWith({ max_inline_files: maxInlineFiles }));

  it.each([1024, 5000])("may be 1024 where %i are configured, and 1025 breaks the rule too_many_keys", (configured) => {
    expect(validate(1024, configured)).toBeNull();
    expect(validate(1025, configured)).toMatchObject({ code: "invalid_file_data" });
    expect(validate(1025, configured)?.context).toEqual({ count: 1025, limit: 1024, rule: "too_many_keys" });
  });

  it("breaks the rule too_many_keys past 1024, however low the deployment's cap", () => {
    expect(validate(1024, 64)?.context).toEqual({ count: 1024, limit: 64 });
    expect(validate(1025, 64)?.context).toEqual({ count: 1025, limit: 1024, rule: "too_many_keys" });
  });

  describe("a key that is there again", () => {
    /** A body with this many keys, and one of them again. */
    const bodyWith = (count: number, again: number) => {
      const names = Array.from({ length: count }, (_, index) => `f${index}`);
      const entries = [...names, names[again]].map((name) => `"${name}":{"encoding":"text","content":""}`);
      return `{"source":"a","files":{${entries.join()}}}`;
    };

    it.each([0, 1023])("is named as a duplicate of one of 1024, whatever the deployment's cap", (again) => {
      expect(problemOf(bodyWith(1024, again), limitsWith({ max_inline_files: 2 }))).toMatchObject({
        code: "invalid_request",
        context: { errors: [{ loc: ["files", `f${again}`], type: "duplicate_field" }] },
      });
    });

    it("is counted as one more where it comes after 1024 others", () => {
      expect(problemOf(bodyWith(1025, 1024))?.context).toEqual({ count: 1026, limit: 1024, rule: "too_many_keys" });
    });
  });
});
