/** The colours of Typst in the editor. */
import { expect, it } from "vitest";
import { coloursOf } from "../../../../clients/playground/editor/typst-colours.ts";
import "../../../../clients/template/node-parser.ts";

/** The coloured parts of a text, without signs. */
function colours(text: string): string[] {
  return coloursOf(text)
    .filter(([, , colour]) => colour !== "operator")
    .sort(([first], [second]) => first - second)
    .map(([from, to, colour]) => `${colour}: ${text.slice(from, to)}`);
}

it.each([
  ["= A heading\ntext", ["heading: = A heading"]],
  ["a *b* _c_", ["strong: *b*", "emphasis: _c_"]],
  ["// a\nb /* c /* d */ e */ f", ["comment: // a", "comment: /* c /* d */ e */"]],
  ["`*raw*` and ```typ\n= raw\n``` text", ["monospace: `*raw*`", "monospace: ```typ\n= raw\n```"]],
  ['#let a = "x\\"y"\n"text"', ["keyword: #", "keyword: let", 'string: "x\\"y"']],
  [
    "#set page(width: 12mm)\n12mm",
    ["keyword: #", "keyword: set", "function: page", "propertyName: width", "number: 12mm"],
  ],
  ["#a.b and .c", ["keyword: #", "propertyName: b"]],
  ["#f(true) #a.g[x]", ["keyword: #", "function: f", "literal: true", "keyword: #", "function: g"]],
  ["#[= A] 2 <label> @label", ["keyword: #", "heading: = A", "labelName: <label>", "labelName: @label"]],
  ["- a \\# https://a.example", ["list: -", "escape: \\#", "link: https://a.example"]],
])("distinguishes markup from code: %j", (text, expected) => {
  expect(colours(text)).toEqual(expected);
});
