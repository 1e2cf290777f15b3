/**
 * Typst source is read by Typst's own parser, in clients/template. Regular expressions over source were many once, and each
 * mistake of one became another rule in it: what looks like one fails here.
 */
import { readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";

const PROJECT = fileURLToPath(new URL("../../", import.meta.url));
/** Words of Typst's code in a regular expression, after a boundary or a `#`: keywords, and functions that read files. */
const WORDS = "let|set|show|import|include|eval|image|bibliography|plugin|font|sys|type";
const OVER_SOURCE = new RegExp(
  String.raw`\/[^/\n]*(?:\\b|#|\^)(?:\(\?:)?(?:${WORDS})(?:\\b|\\s|\\\(|\|)[^\n]*\/[dgimsuvy]*[\s;,.)]`,
);
/** What is not about source: the text that a document shows, messages of Typst, colours of the editor, and a compiler's marks. */
const OF_OTHER_TEXTS = [
  "clients/playground/checks/foreign-markup.ts",
  "clients/playground/checks/compiler/",
  "clients/playground/editor/typst-language.ts",
  "clients/template/older-typst.ts",
];

function suspects(): string[] {
  return readdirSync(`${PROJECT}clients`, { recursive: true, encoding: "utf8" })
    .map((name) => `clients/${name}`)
    .filter((file) => file.endsWith(".ts") && !file.includes("node_modules"))
    .filter((file) => !OF_OTHER_TEXTS.some((allowed) => file.startsWith(allowed)))
    .flatMap((file) =>
      readFileSync(`${PROJECT}${file}`, "utf8")
        .split("\n")
        .flatMap((line, index) => (OVER_SOURCE.test(line) ? [`${file}:${index + 1}: ${line.trim()}`] : [])),
    );
}

it("no regular expression reads Typst source", () => {
  expect(suspects()).toEqual([]);
});

it.each([
  ["const LET = /\\blet\\s+(\\w+)/g;"],
  ["const READS = /\\b(?:import|include)\\s*\\(?/;"],
  ["  /#(?:let|show)\\b/m,"],
])("and one that came back would be found: %s", (line) => {
  expect(line).toMatch(OVER_SOURCE);
});
