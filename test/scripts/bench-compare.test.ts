/** What `npm run bench` calls worse: by direction and beyond the noise. */
import { expect, it } from "vitest";
import { cellOf, markdown, NOISE, type Table, worsenings } from "../../bench/report.ts";

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

const pageOf = (...tables: Table[]) => `# A page\n\n${tables.map(markdown).join("\n\n")}\n\nText.\n`;

it("a figure counts as worse only if it went the wrong way by more than the noise", () => {
  const page = pageOf(tableOf(1, 10));
  expect(worsenings(page, [tableOf(1 + NOISE + 0.01, 10)])).toEqual(["small, ms: 1 → 1.21"]);
  expect(worsenings(page, [tableOf(1 + NOISE, 10)])).toEqual([]);
  expect(worsenings(page, [tableOf(0.1, 1)])).toEqual([]);
});

it("a row of a bench page can name its own direction", () => {
  const page = pageOf(tableOf(1, 10, "higher"));
  expect(worsenings(page, [tableOf(1, 8, "higher")])).toEqual(["rate, ms: 10 → 8"]);
  expect(worsenings(page, [tableOf(1, 100, "higher")])).toEqual([]);
});

it("figures are matched by the head of the table and the name of the row, and new or removed ones are not compared", () => {
  const renamed = { ...tableOf(9, 9), rows: [{ name: "other", cells: [9, 9] }] };
  const elsewhere = { ...tableOf(9, 9), subject: "Elsewhere" };
  expect(worsenings(pageOf(tableOf(1, 1)), [renamed, elsewhere])).toEqual([]);
  expect(worsenings(pageOf(elsewhere, tableOf(1, 1)), [tableOf(9, 1)])).toEqual(["small, ms: 1 → 9"]);
});

it("figures are written with their digits and units, and found again", () => {
  const table: Table = {
    subject: "",
    columns: [{ title: "ms", digits: 1, unit: " ms" }, { title: "ratio" }],
    rows: [{ name: "a", cells: [1.25, null] }],
  };
  expect(markdown(table)).toBe("| | ms | ratio |\n| --- | --- | --- |\n| a | 1.3 ms | |");
  expect(cellOf(pageOf(table), "a", "ms")).toBe("1.3 ms");
  expect(cellOf(pageOf(table), "b", "ms")).toBeNull();
});
