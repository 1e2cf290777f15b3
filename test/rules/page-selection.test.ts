/**
 * Page selections: their bounds, their grammar, and the number of pages that they name.
 */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { countDistinctPages, parsePageRange, parsePageSelection } from "../../rules/page-selection.ts";
import { problemOf } from "../support/rules/bodies.ts";
import { limitsWith } from "../support/rules/limits-for-tests.ts";
import { runs } from "../support/rules/runs.ts";

const ruleFor = (pages: string) => {
  const context = problemOf({ source: "a", output: { pages } })?.context ?? {};
  return "rule" in context ? context.rule : null;
};

describe("a page selection", () => {
  it("may have 256 characters and no more", () => {
    const selection = `${"1234,".repeat(50)}123456`;
    expect(selection).toHaveLength(256);
    expect(ruleFor(selection)).toBeNull();
    expect(ruleFor(`${selection}7`)).toBe("page_selection_too_long");
  });

  it("is measured in code points", () => {
    expect(ruleFor("\u{1f4c4}".repeat(256))).toBe("page_selection_malformed");
    expect(ruleFor("\u{1f4c4}".repeat(257))).toBe("page_selection_too_long");
    expect(ruleFor("\ud800".repeat(256))).toBe("page_selection_malformed");
    expect(ruleFor("\ud800".repeat(257))).toBe("page_selection_too_long");
    expect(ruleFor(`${"a".repeat(255)}\u{1f4c4}`)).toBe("page_selection_malformed");
    expect(ruleFor(`${"a".repeat(256)}\u{1f4c4}`)).toBe("page_selection_too_long");
  });

  it("is too long at any length past the bound", () => {
    for (const length of [4095, 4096, 4097, 100_000])
      expect(ruleFor("1".repeat(length))).toBe("page_selection_too_long");
  });

  it("may hold 64 selections and no more", () => {
    const selections = (count: number) => Array.from({ length: count }, (_, index) => index + 1).join(",");
    expect(ruleFor(selections(64))).toBeNull();
    expect(ruleFor(selections(65))).toBe("page_selection_too_many_segments");
  });
});

describe("a range", () => {
  it.each([
    ["1", { first: 1, last: 1 }],
    ["2-5", { first: 2, last: 5 }],
    ["8-", { first: 8, last: null }],
    ["5-2", { first: 5, last: 2 }],
    ["999999999-999999999", { first: 999_999_999, last: 999_999_999 }],
  ])("is read from %s", (text, range) => {
    expect(parsePageRange(text)).toEqual(range);
  });

  it.each([
    "",
    "0",
    "01",
    "-1",
    "1-0",
    "1-02",
    "1000000000",
    "1-1000000000",
    "1--",
    "1-2-",
    "1 ",
    "\u0661",
    "1\n",
    "1e1",
    "1,2",
  ])("is not read from %j", (text) => {
    expect(parsePageRange(text)).toBeNull();
  });
});

it("a selection that does not parse is left out of the others", () => {
  expect(parsePageSelection("1,x,,3-,02")).toEqual([
    { first: 1, last: 1 },
    { first: 3, last: null },
  ]);
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
