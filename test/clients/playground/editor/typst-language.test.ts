/** The highlighting of Typst: some of its colours, and whether it gets through any text. */
import { highlightTree, tagHighlighter, tags } from "@lezer/highlight";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { typstLanguage } from "../../../../clients/playground/editor/typst-language.ts";
import { EXAMPLE_NAMES } from "../../../../protocol/routes.ts";
import { exampleRequest } from "../../../../scripts/examples/example-request.ts";

const highlighter = tagHighlighter(
  (
    ["comment", "heading", "strong", "keyword", "string", "monospace", "number", "labelName", "propertyName"] as const
  ).map((name) => ({ tag: tags[name], class: name })),
);

/** The coloured parts of a text. */
function colours(text: string): string[] {
  const found: string[] = [];
  highlightTree(typstLanguage.parser.parse(text), highlighter, (from, to, name) => {
    found.push(`${name}: ${text.slice(from, to)}`);
  });
  return found;
}

describe("the highlighting of Typst", () => {
  it.each([
    ["= A heading\ntext", ["heading: = A heading"]],
    ["a *b* c", ["strong: *b*"]],
    ["// a\nb /* c /* d */ e */ f", ["comment: // a", "comment: /* c /* d */ e */"]],
    [
      "`*raw*` and ```typ\n= raw\n``` text",
      ["monospace: `*raw*`", "monospace: ```typ", "monospace: = raw", "monospace: ```"],
    ],
    ['#let a = "x\\"y"\n"text"', ["keyword: #", "keyword: let", 'string: "x\\"y"']],
    ["#set page(width: 12mm)\n12mm", ["keyword: #", "keyword: set", "propertyName: width", "number: 12mm"]],
    ["#a.b and .c", ["keyword: #", "propertyName: b"]],
    [
      "[#let a = 1] 2 <label> @label",
      ["keyword: #", "keyword: let", "number: 1", "labelName: <label>", "labelName: @label"],
    ],
  ])("distinguishes markup from code: %j", (text, expected) => {
    expect(colours(text)).toEqual(expected);
  });

  it.each(EXAMPLE_NAMES)("reads the example %s", async (name) => {
    const { source } = JSON.parse(await exampleRequest(name));
    expect(colours(source).length).toBeGreaterThan(5);
  });

  it.each([5, 30, 300])("gets through %i levels that end with their line", (count) => {
    const text = `${"*_".repeat(count)} x\n= y\n`;
    expect(typstLanguage.parser.parse(text).length).toBe(text.length);
    expect(colours(text).at(-1)).toBe("heading: = y");
  });

  it("gets through any text", () => {
    const characters = '#$*_[](){}"`\\/=<>@;.,:-+ \n0aλh😀'.split("");
    const piece = fc.constantFrom(...characters, "#let ", "//", "/*", "```", "http://", "#if x ");
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 60 }), (pieces) => {
        const text = pieces.join("");
        expect(typstLanguage.parser.parse(text).length).toBe(text.length);
      }),
    );
  });
});
