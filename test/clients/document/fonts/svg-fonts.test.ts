/** What SVG images ask for that Typst does not draw, or sets in another font. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { describeForeignObjects, describeSvgFamilies, readSvgs } from "../../../../clients/document/fonts/svg-fonts.ts";

const KNOWN = new Set(["libertinus serif"]);

const file = (content: string, key = "a.svg") => ({ key, bytes: new TextEncoder().encode(content) });
const svg = (content: string) => `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 9 9">${content}</svg>`;
const familiesIn = (content: string) => readSvgs([file(svg(content))]).flatMap(({ families }) => families);

describe("the families of text in an SVG", () => {
  it.each([
    ['<text font-family="Nope">x</text>', [["Nope"]]],
    ["<text font-family = 'Nope'>x</text>", [["Nope"]]],
    ['<text style="fill:red; font-family: Nope, sans-serif">x</text>', [["Nope"]]],
    ["<text style=\"font-family:'No pe';font-size:3px\">x</text>", [["No pe"]]],
    ['<text style="font-family: &quot;No pe&quot;, &#39;B&#x27; !important">x</text>', [["No pe", "B"]]],
    ['<text font-family="R &amp; D">x</text>', [["R & D"]]],
    ['<text style="font: bold 12px/1.2 Nope, serif">x</text>', [["Nope"]]],
    ['<g font-family="Nope"><text><tspan>x</tspan></text></g>', [["Nope"]]],
    ['<g font-family="Nope"><text font-family="Nor this">x</text></g>', [["Nor this"]]],
    ['<text font-family="A">x<tspan font-family="B">y</tspan></text>', [["A"], ["B"]]],
    ['<text font-family="A"/><text font-family="B">x</text>', [["B"]]],
    ['<svg:text font-family="A">x</svg:text>', [["A"]]],
    ["<style>.a, .b { font-family: Nope; } /* .c{font-family:Not} */</style><text>x</text>", [["Nope"]]],
    ['<style><![CDATA[text { font: 3px "No pe" }]]></style><text>x</text>', [["No pe"]]],
    ["<style>@font-face{font-family:Own;src:url(a)} .b{fill:red}</style><text>x</text>", []],
    ['<style>.b{font-family:Nope}</style><path d="M0 0"/>', []],
    ['<text font-family="sans-serif, Monospace">x</text>', []],
    ['<text font-family="inherit">x</text>', []],
    ['<text font-family="var(--font)">x</text>', []],
    ['<g font-family="Nope"><text> </text></g>', []],
    ['<g font-family="Nope"><path d="M0 0"/></g>', []],
    ['<!-- <text font-family="Nope">x</text> --><text>x</text>', []],
    ["<text aria-label=\" font-family='Nope' >\">x</text>", []],
    ['<foreignObject><div><text font-family="Nope">x</text></div></foreignObject><text>x</text>', []],
    ['<title font-family="Nope">x</title>', []],
  ])("%s", (content, expected) => {
    expect(familiesIn(content)).toEqual(expected);
  });

  it("may be written by entities that the file defines, as Illustrator's do", () => {
    const head = '<!DOCTYPE svg [<!ENTITY svg "http://www.w3.org/2000/svg"> <!ENTITY f "Nope">]>';
    const content = `${head}<svg xmlns="&svg;"><text font-family="&f;">x</text></svg>`;
    expect(readSvgs([file(content)])).toMatchObject([{ families: [["Nope"]] }]);
  });

  it.each([
    [1000, [["Nope"]]],
    [1001, []],
  ])("are read behind %i uses of an entity of 1,000 characters", (uses, families) => {
    const head = `<!DOCTYPE svg [<!ENTITY long "${"x".repeat(1000)}">]>`;
    const content = `${head}<svg><text>${"&long;".repeat(uses)}</text><text font-family="Nope">x</text></svg>`;
    expect(readSvgs([file(content)])).toMatchObject([{ families }]);
  });

  it("are named with the file, once each, unless the service or the request has one of the alternatives", () => {
    const text = '<text font-family="Nope, Nor this, serif">x</text><text font-family="Nope, Nor this">y</text>';
    const images = readSvgs([file(svg(text), "img/logo.svg")]);
    expect(describeSvgFamilies(images, KNOWN, "the service")).toEqual([
      'img/logo.svg has text in "Nope" or "Nor this", which neither the service nor the request has: Typst uses another font.',
    ]);
    expect(describeSvgFamilies(images, new Set(["nor this"]), "the service")).toEqual([]);
  });

  it("are named ten times at most, and as many of a file are read as nobody needs", () => {
    const text = (count: number) =>
      readSvgs([file(svg(Array.from({ length: count }, (_, at) => `<text font-family="F${at}">x</text>`).join("")))]);
    expect(describeSvgFamilies(text(10), KNOWN, "the service")).toHaveLength(10);
    expect(describeSvgFamilies(text(12), KNOWN, "the service").slice(10)).toEqual([
      "Text in SVG images asks for 2 more of the families that are missing.",
    ]);
    expect(text(100)[0]?.families).toHaveLength(100);
    expect(text(101)[0]?.families).toHaveLength(100);
  });

  it("are read to the end of any file, in one pass", () => {
    const part = fc.constantFrom(..."< > ' \" <!-- --> <style> </ font-family= /* & / x".split(" "), "<text ", " ");
    fc.assert(
      fc.property(fc.array(part, { maxLength: 40 }), (parts) => {
        expect(readSvgs([file(parts.join(""))])).toBeInstanceOf(Array);
      }),
    );
    const starts = ["<", "<a ", "<a b='", "<!--", "<style>/*", "<style>", "<text>&quot;"];
    for (const hostile of [...starts, "<g font-family='A'>", "<g style='font: 1'>"]) {
      const content = svg(hostile.repeat(Math.floor((256 * 1024) / hostile.length)));
      expect(readSvgs([file(content)])).toBeInstanceOf(Array);
    }
  });
});

describe("foreignObject", () => {
  it("is named with the files that have it, and what to do", () => {
    const content = svg("<foreignObject><div>x</div></foreignObject>");
    const names = ["a.svg", "b.SVG", "c.txt"];
    expect(describeForeignObjects(readSvgs(names.map((name) => file(content, name))))).toEqual([
      'a.svg, b.SVG: Typst does not draw the text in foreignObject. Export it as PDF or PNG, or with plain text: "htmlLabels": false in Mermaid, no "Word Wrap" and "Formatted Text" in draw.io.',
    ]);
    const many = Array.from({ length: 12 }, (_, at) => file(content, `${at}.svg`));
    expect(describeForeignObjects(readSvgs(many))[0]).toMatch(/8\.svg, 9\.svg and 2 more: Typst/);
  });

  it.each(["<!-- <foreignObject/> -->", '<path d="<foreignObject>"/>', "<text>foreignObject</text>"])(
    "is none in %s",
    (content) => {
      expect(describeForeignObjects(readSvgs([file(svg(content))]))).toEqual([]);
    },
  );
});
