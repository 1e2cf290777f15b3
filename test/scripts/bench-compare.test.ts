/**
 * What `npm run bench` calls worse: by direction, beyond the noise, on the same kind of machine only.
 */
import { describe, expect, it } from "vitest";
import { NOISE, worsenings } from "../../bench/compare.ts";
import { markdown, type Result, type Table } from "../../bench/report.ts";

const MACHINE = { processor: "x", processorCount: 2, memoryGibibytes: 24, platform: "linux", node: "26.10.0" };

function result(tables: Table[], machine = MACHINE): Result {
  return { benchmark: "b", machine, date: "2026-11-21", tables };
}

function tableOf(milliseconds: number, rate: number, better: "lower" | "higher" = "lower"): Table {
  return {
    subject: "Body",
    columns: [{ title: "ms", better: "lower" }, { title: "not compared" }],
    rows: [
      { name: "small", cells: [milliseconds, milliseconds] },
      { name: "rate", better, cells: [rate, "text"] },
    ],
  };
}

describe("figures of two runs", () => {
  it("are worse when they went the wrong way by more than the noise", () => {
    const now = result([tableOf(1 + NOISE + 0.01, 10)]);
    expect(worsenings(result([tableOf(1, 10)]), now)).toEqual([
      { figure: "small, ms", before: 1, now: 1 + NOISE + 0.01 },
    ]);
  });

  it("are not worse within the noise, or when they got better", () => {
    expect(worsenings(result([tableOf(1, 10)]), result([tableOf(1 + NOISE, 10)]))).toEqual([]);
    expect(worsenings(result([tableOf(1, 10)]), result([tableOf(0.1, 1)]))).toEqual([]);
  });

  it("go the way that their row says, where it says one", () => {
    const worse = worsenings(result([tableOf(1, 10, "higher")]), result([tableOf(1, 8, "higher")]));
    expect(worse).toEqual([{ figure: "rate, ms", before: 10, now: 8 }]);
    expect(worsenings(result([tableOf(1, 10, "higher")]), result([tableOf(1, 100, "higher")]))).toEqual([]);
  });

  it("are matched by the names of rows and columns; what is new or gone is not compared", () => {
    const renamed = { ...tableOf(9, 9), rows: [{ name: "other", cells: [9, 9] }] };
    expect(worsenings(result([tableOf(1, 1)]), result([renamed, tableOf(9, 9)]))).toEqual([]);
  });

  it("are not compared between machines of different kinds", () => {
    const other = { ...MACHINE, processorCount: 4 };
    expect(worsenings(result([tableOf(1, 10)]), result([tableOf(9, 90)], other))).toBeNull();
  });
});

describe("a table on a page", () => {
  it("has its figures with their digits and units, and nothing where there is none", () => {
    const table: Table = {
      subject: "",
      columns: [{ title: "ms", digits: 1, unit: " ms" }, { title: "ratio" }],
      rows: [{ name: "a", cells: [1.25, null] }],
    };
    expect(markdown(table)).toBe("| | ms | ratio |\n| --- | --- | --- |\n| a | 1.3 ms | |");
  });
});
