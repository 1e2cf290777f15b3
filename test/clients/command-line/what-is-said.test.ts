/** What is said of templates, data and options that would not make what their author expects: the rows of what-is-said.txt. */
import { readFileSync } from "node:fs";
import { it } from "vitest";
import { expectRow, readTable } from "../../support/clients/table-of-runs.ts";
import { GREY_JPEG } from "../../support/grey-jpeg.ts";

/** @param end the bytes that are missing at the end of the picture */
const withPicture = (end: number) =>
  JSON.stringify({
    photo: `data:image/jpeg;base64,${GREY_JPEG.subarray(0, GREY_JPEG.length - end).toString("base64")}`,
  });

const longNames = Array.from({ length: 12 }, (_, index) => `c${index}${"x".repeat(50)}`);

const { rows } = readTable(readFileSync(new URL("what-is-said.txt", import.meta.url), "utf8"), {
  LONG_PICTURE: { "3.json": JSON.stringify({ photo: "A".repeat(5000) }) },
  HALF_PICTURES: {
    "p.json": withPicture(2).replaceAll("/", "\\/"),
    "p.jsonl": `${withPicture(0)}\n${withPicture(2)}\n`,
  },
  TABS: {
    "d.csv": 'n,hours\n1,"Mon\t9-17"\n',
    "h.csv": "day,open\nMon\t9,x\n",
    "h.txt": "a\n\nMon\t9",
    "h.tsv": "Mon\t9",
    "t.json": '{\n\t"hours": "Mon 9"\n}',
  },
  MARKED_SCHEMA: { "data.schema.json": '\ufeff{"required": ["name"]}' },
  WIDE_SCHEMA: { "data.schema.json": Buffer.from("\ufeff{}", "utf16le") },
  TWELVE_COLUMNS: { "p.csv": `${longNames.join(";")}\n${"a;".repeat(11)}a\n` },
  JPEG: { "logo.jpg": GREY_JPEG.subarray(0, -2), "whole.jpg": GREY_JPEG },
});

it.each(rows)("$title: $args", expectRow);
