/** How page selections are read, and how many pages they name. Bounds and grammar: conformance-vectors. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { countDistinctPages, parsePageSelection } from "../../rules/page-selection.ts";
import { problemOf } from "../support/rules/bodies.ts";
import { limitsWith } from "../support/rules/limits-for-tests.ts";
import { runs } from "../support/rules/runs.ts";

it("a page selection is too long at any length past its bound", () => {
  for (const length of [257, 4095, 4096, 4097, 100_000]) {
    const { context } = problemOf({ source: "a", output: { pages: "1".repeat(length) } }) ?? {};
    expect(context).toMatchObject({ rule: "page_selection_too_long" });
  }
});

const page = fc.integer({ min: 1, max: 40 });
const selection = fc.oneof(
  page.map(String),
  page.map((first) => `${first}-`),
  fc.tuple(page, fc.nat(12)).map(([first, more]) => `${first}-${first + more}`),
);
const pages = fc.array(selection, { minLength: 1, maxLength: 12 }).map((list) => list.join(","));

/** The pages named for certain: all of a closed range, the first of an open one. */
function pagesNamed(text: string): Set<number> {
  const named = new Set<number>();
  for (const part of text.split(",")) {
    const [first, last] = part.split("-").map(Number);
    const from = first ?? 0;
    for (let number = from; number <= (last || from); number++) named.add(number);
  }
  return named;
}

describe("the number of pages", () => {
  it("is that of distinct pages, whatever overlaps and in whatever order", () => {
    fc.assert(
      fc.property(pages, (text) => {
        expect(countDistinctPages(parsePageSelection(text))).toBe(pagesNamed(text).size);
      }),
      { numRuns: runs(3000) },
    );
  });

  it("rejects a selection exactly where it is over the limit", () => {
    fc.assert(
      fc.property(pages, fc.integer({ min: 1, max: 40 }), fc.constantFrom("png", "svg"), (text, limit, format) => {
        const request = { source: "a", output: { format, archive: "zip", pages: text } };
        const problem = problemOf(request, limitsWith({ max_output_files: limit }));
        const count = pagesNamed(text).size;
        if (count <= limit) expect(problem).toBeNull();
        else expect(problem).toMatchObject({ code: "page_selection_too_large", context: { count, limit } });
      }),
      { numRuns: runs(1000) },
    );
  });
});
