/** What cells of a spreadsheet become in the data. */
import { describe, expect, it } from "vitest";
import { readCells, rowsAsJson } from "../../../../clients/playground/editor/pasted-cells.ts";

const pasted = (text: string) => JSON.parse(rowsAsJson(readCells(text) ?? []));

describe("pasted cells", () => {
  it("are rows with the names of the first one; what is no number of JSON stays a text", () => {
    expect(pasted("Name\tPrice\tPlace\r\nInk \t12.50\t007\r\nPaper\t1,5\t-3\r\n")).toEqual([
      { Name: "Ink", Price: 12.5, Place: "007" },
      { Name: "Paper", Price: "1,5", Place: -3 },
    ]);
    expect(rowsAsJson(readCells("a\tb\n1.50\t2") ?? [])).toContain('"a": 1.50');
  });

  it("may have line ends and quotes, and may be missing", () => {
    expect(pasted('a\tb\n"one\ntwo ""3"""\t\n4')).toEqual([
      { a: 'one\ntwo "3"', b: "" },
      { a: 4, b: "" },
    ]);
  });

  it("are arrays where the first row has no different names", () => {
    expect(pasted("1\t1\n2\t3")).toEqual([
      [1, 1],
      [2, 3],
    ]);
    expect(pasted("a\tb")).toEqual([["a", "b"]]);
  });

  it("are no other text: JSON with tabs, or a text without any", () => {
    expect(readCells('{\n\t"a": 1\n}')).toBeNull();
    expect(readCells("a, b\nc")).toBeNull();
  });
});
