/** What is said of templates that would make another document than their author expects: the rows of what-is-said.txt. */
import { readFileSync } from "node:fs";
import { it } from "vitest";
import { expectRow, readTable } from "../../support/clients/table-of-runs.ts";
import { GREY_JPEG } from "../../support/grey-jpeg.ts";

const { rows } = readTable(readFileSync(new URL("what-is-said.txt", import.meta.url), "utf8"), {
  LONG_PICTURE: { "3.json": JSON.stringify({ photo: "A".repeat(5000) }) },
  JPEG: { "logo.jpg": GREY_JPEG.subarray(0, -2), "whole.jpg": GREY_JPEG },
});

it.each(rows)("$title: $args", expectRow);
