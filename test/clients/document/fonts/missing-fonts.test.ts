/** Font families that neither a request nor the service has, by the text of the request. */
import "../../../../clients/template/node-parser.ts";
import { describe, expect, it, vi } from "vitest";
import {
  type DocumentParts,
  describeFontNotes,
  describeMissingFamilies,
  findWantedFonts,
} from "../../../../clients/document/fonts/missing-fonts.ts";
import type { FontFamily } from "../../../../protocol/capabilities.ts";
import { EXAMPLE_NAMES } from "../../../../protocol/routes.ts";
import { exampleRequest } from "../../../../scripts/examples/example-request.ts";
import { axisTable, characterTable, liberation, nameTable, withStyle, withTables } from "../../../support/fonts.ts";

/** Those of a service whose operator has added none. */
const FONTS: readonly FontFamily[] = [
  "DejaVu Sans Mono",
  "Libertinus Serif",
  "New Computer Modern",
  "New Computer Modern Math",
].map((family) => ({ family, variants: [] }));

const bytes = (text: string) => new TextEncoder().encode(text);

function parts(source: string, files: Readonly<Record<string, string | Uint8Array>> = {}): DocumentParts {
  const entries = Object.entries(files).map(([key, content]) => ({
    key,
    bytes: content instanceof Uint8Array ? content : bytes(content),
  }));
  return { source, files: entries };
}

const describeMissing = (document: DocumentParts) => {
  const wanted = findWantedFonts(document);
  return describeMissingFamilies(wanted.families, wanted, FONTS, () => "");
};

const familiesOf = (...request: Parameters<typeof parts>) =>
  describeMissing(parts(...request)).flatMap((sentence) => /font family "(.*)", and/.exec(sentence)?.[1] ?? []);

describe("requested families that are missing", () => {
  it.each([
    ['#set text(font: "Nope")', ["Nope"]],
    ['#text(\n  font :\n "Nope")[x]', ["Nope"]],
    ['#set text(font: ("Nope", "Libertinus Serif", "Nor this"))', ["Nope", "Nor this"]],
    ['#set text(font: ((name: "Nope", covers: "latin-in-cjk"), "Libertinus Serif"))', ["Nope"]],
    ['#set text(font: (name: "Nope", covers: regex("[a-z]")))', ["Nope"]],
    ['#set text(font: (\n  "Nope",\n  (covers: regex("(a|b)"), name: "Nor this"),\n))', ["Nope", "Nor this"]],
    ['#let body-font = "Nope"\n#set text(font: body-font)', ["Nope"]],
    ['#let serif = ("Nope", "Libertinus Serif")\n#set text(font: serif, size: 10pt)', ["Nope"]],
    ['#let theme = (title-font: "Nope")\n#text(font: theme.title-font)[x]', ["Nope"]],
    ['#let sans = "Nope"\n#set text(font: sans)\n#for sans in (1, 2) [#sans]', ["Nope"]],
    ['#let conf(font: "Nope", body) = { set text(font: font); body }', ["Nope"]],
    ['#set text(font: "No \\"such\\" font")', ['No "such" font']],
    ['#set text(font: "Größe 源")', ["Größe 源"]],
  ])("are named: %s", (source, expected) => {
    expect(familiesOf(source)).toEqual(expected);
  });

  it.each([
    '#set text(font: "Libertinus Serif")',
    '#set text(font: "libertinus SERIF")',
    '#set text(font: ("DejaVu Sans Mono", "New Computer Modern"))',
    '// #set text(font: "Nope")',
    '/* #set text(font: "Nope") */',
    '/* #set text(font: "Nope")',
    '#set text(font: "Fira " + style)',
    '#set text(font: prefix + "Fira")',
    '#let fonts = (base + if pro { " Pro" } else { " Free" },)\n#set text(font: fonts)',
    '#let icons = (font: "\\u{f031}")\n#set text(font: icons.font)',
    '#let person = (name: "Ada")\n#let width(name) = measure(text(font: name)[x])',
    '#let sized(name) = text(font: name)[x]\n#let name = "Ada"',
    '#let sized(name) = text(font: name)[x]\n#let name = ("Ada", "Bea")',
    '#let sized = (name, size) => text(font: name)[x]\n#let name = "Ada"',
    '#let label = "font: "\n#let unit = "pt"',
    '#let label = "font: "; #let unit = "pt"',
    "#let logo(icon-font: none) = []",
    '#let x = (fonts: "Nope")',
    '#set text(font: (name: "Libertinus Serif", covers: "latin-in-cjk"))',
    '#let pick(n) = n\n#set text(font: (pick("Nope"), "Libertinus Serif"))',
    '"font:',
    "font: (",
  ])("are none in: %s", (source) => {
    expect(familiesOf(source)).toEqual([]);
  });

  it("are looked for in all Typst files, with a name that one file gives and another one uses", () => {
    const lib = '#let main-font = "Nope"';
    expect(familiesOf("#set text(font: main-font)", { "lib.typ": lib })).toEqual(["Nope"]);
    expect(familiesOf("#text(font: name)[x]", { "lib.typ": '#let name = "Ada"' })).toEqual([]);
    expect(familiesOf("", { "lib.typ": '#set text(font: "Nope")', "notes.txt": 'font: "Not this"' })).toEqual(["Nope"]);
  });

  it("may be in the request: by the name in the font, in a file whose name Typst takes for a font", async () => {
    const font = withTables(await liberation("Regular"), { name: nameTable("Nope Bold") });
    const source = '#set text(font: "NOPE")';
    expect(familiesOf(source, { "fonts/any.ttf": font })).toEqual([]);
    expect(familiesOf(source, { "fonts/any.bin": font })).toEqual(["NOPE"]);
    expect(familiesOf(source, { "fonts/Nope.ttf": "no font" })).toEqual(["NOPE"]);
  });
});

describe("a bold font that the project does not bring", () => {
  const sentence =
    'The request brings no bold font of the family "Liberation Sans": headings and *strong* text will not be bold. Add the file of its bold font.';
  const SET = '#set text(size: 9pt, font: "Liberation Sans")\n';
  const noteOn = async (source: string, styles: readonly Parameters<typeof liberation>[0][], fonts = FONTS) => {
    const files = await Promise.all(
      styles.map(async (style) => [`fonts/${style}.ttf`, await liberation(style)] as const),
    );
    return describeFontNotes(findWantedFonts(parts(source, Object.fromEntries(files))), fonts);
  };

  const ITALIC =
    'The request brings no italic font of the family "Liberation Sans": _emphasised_ text stays upright. Add the file of its italic font.';
  const OTHER_WEIGHT = '#show heading: it => {\n set text(weight: "regular")\n it }\n= A';
  const UNDERSCORES = "a_b_c and $x_1 + y_2$ and $(a)_i - (b)_j$ #list.map(((_, a)) => (_, b)) snake_case_";

  it.each<[text: string, brought: readonly Parameters<typeof liberation>[0][], said: readonly string[]]>([
    ["= Title", ["Regular", "Italic"], [sentence]],
    ["Text\n== Title", ["Regular", "Italic"], [sentence]],
    ["A *strong* word", ["Regular"], [sentence]],
    ["#strong[word]", ["Regular"], [sentence]],
    ["#heading[Title]", ["Regular"], [sentence]],
    ['#show heading: set text(red, weight: "bold")\n= A', ["Regular"], [sentence]],
    ["= Title", ["Regular", "Bold"], []],
    ["2*3*4 and a == b", ["Regular"], []],
    [OTHER_WEIGHT, ["Regular"], []],
    // Of several families, nobody knows which one a heading has; and a package may set them.
    ['#show heading: set text(font: "Libertinus Serif")\n= Title', ["Regular"], []],
    ['#import "@preview/letter:1.0.0": *\n= Title', ["Regular"], []],
    ["= Title", [], []],
    ["An _emphasised_ word", ["Regular", "Bold"], [ITALIC]],
    ["#emph[word]", ["Regular", "Bold"], [ITALIC]],
    ['#text(style: "italic")[word]', ["Regular", "Bold"], [ITALIC]],
    ["(_Ada_)", ["Regular", "Bold"], [ITALIC]],
    ["*_both_*", ["Regular", "Bold"], [ITALIC]],
    ["An _emphasised_ word", ["Regular", "Italic"], []],
    [UNDERSCORES, ["Regular"], []],
    ['#show emph: set text(red, style: "normal")\nAn _emphasised_ word', ["Regular"], []],
  ])("or an italic one is named where the text needs it: %j beside %j", async (text, brought, said) => {
    expect(await noteOn(SET + text, brought)).toEqual(said);
  });

  it("is not missed in a font that is not that of the text", async () => {
    expect(await noteOn('#text(font: "Liberation Sans")[Logo]\n= Title', ["Regular"])).toEqual([]);
  });

  it("is not missed if the service has the family, or the font is variable", async () => {
    const fonts = [...FONTS, { family: "liberation sans", variants: [] }];
    expect(await noteOn(`${SET}= Title`, ["Regular"], fonts)).toEqual([]);
    const noteOnAxes = async (axes: Parameters<typeof axisTable>[0]) => {
      const variable = withTables(await liberation("Regular"), { fvar: axisTable(axes) });
      return describeFontNotes(findWantedFonts(parts(`${SET}= Title _and_ text`, { "fonts/a.ttf": variable })), FONTS);
    };
    expect(await noteOnAxes({ wght: [100, 400, 900], slnt: [-10, 0, 0] })).toEqual([]);
    expect(await noteOnAxes({ opsz: [8, 12, 72], ital: [0, 0, 1] })).toEqual([sentence]);
    expect(await noteOnAxes({ wght: [300, 400, 599] })).toEqual([sentence, ITALIC]);
  });

  it("is named if the family is the service's, which lacks it, too", async () => {
    const usual = { min: 100, max: 100 };
    const variants = [{ style: "normal" as const, weight: { min: 400, max: 400 }, stretch_percent: usual }];
    const fonts = [...FONTS, { family: "Liberation Sans", variants }];
    expect(await noteOn(`${SET}A *strong* _word_`, [], fonts)).toEqual(
      [sentence, ITALIC].map((each) => each.replace("The request brings", "The service has")),
    );
  });
});

describe("fonts that Typst cannot tell apart", async () => {
  const regular = await liberation("Regular");
  const own = (family: string, more: Readonly<Record<string, Buffer>> = {}) =>
    withTables(regular, { name: nameTable(family), ...more });
  const notesOn = (files: Readonly<Record<string, Uint8Array>>) =>
    describeFontNotes(findWantedFonts(parts("", files)), null);
  const variable = (min: number, max: number) => ({ fvar: axisTable({ wght: [min, min, max] }) });

  it("are named, with the one that it uses", () => {
    expect(notesOn({ "b/Own-Condensed.ttf": own("Own Condensed"), "a/Own.ttf": own("OWN") })).toEqual([
      'a/Own.ttf and b/Own-Condensed.ttf are the same to Typst ("Own", normal, weight 400, width 100 %): it uses the first alone. Leave one out, or give it another family name.',
    ]);
    expect(
      notesOn({ "a.ttf": own("Own", variable(100, 500)), "b.ttf": own("Own VF", variable(500, 900)) }),
    ).toHaveLength(1);
  });

  it("are named three times at most", () => {
    const files = Object.fromEntries(
      ["a", "b", "c", "d", "e", "f"].map((name) => [`${name}.ttf`, own("Own", { x: Buffer.from(name) })]),
    );
    expect(notesOn(files)).toHaveLength(4);
    expect(notesOn(files).at(-1)).toBe("Typst does not use 2 more fonts for this reason.");
  });

  it.each<[string, Readonly<Record<string, Uint8Array>>]>([
    ["families", { "a.ttf": own("Own"), "b.ttf": own("Other") }],
    ["weights", { "a.ttf": own("Own"), "b.ttf": withStyle(own("Own Medium"), { weight: 500 }) }],
    ["widths", { "a.ttf": own("Own"), "b.ttf": withStyle(own("Own Condensed"), { width: 3 }) }],
    ["styles", { "a.ttf": own("Own"), "b.ttf": withStyle(own("Own Italic"), { selection: 1 }) }],
    ["ranges of weights", { "a.ttf": own("Own", variable(100, 400)), "b.ttf": own("Own", variable(500, 900)) }],
    [
      "letters",
      {
        "a.ttf": own("Own", { cmap: characterTable([0x41, 0x5a]) }),
        "b.ttf": own("Own", { cmap: characterTable([0x20, 0x40], [0x410, 0x44f]) }),
      },
    ],
    ["names alone, being copies", { "a.ttf": own("Own"), "copy/a.ttf": own("Own") }],
    ["kinds: it prefers a variable one", { "a.ttf": own("Own"), "b.ttf": own("Own", variable(100, 900)) }],
  ])("are none if they have different %s", (_what, files) => {
    expect(notesOn(files)).toEqual([]);
  });
});

describe("the sentences", () => {
  it("name the first ten families, and how many more there are", () => {
    expect(describeMissing(parts('#text(font: "Nope")[x]'))).toEqual([
      'The service has no font family "Nope", and the request brings none: Typst uses another font.',
    ]);
    const families = Array.from({ length: 12 }, (_, index) => `"Nope ${index}"`);
    const sentences = describeMissing(parts(`#text(font: (${families}))[x]`));
    expect(sentences).toHaveLength(11);
    expect(sentences.at(-1)).toBe("It lacks 2 more of the font families that the templates name.");
    // A suggestion is looked for among all fonts.
    const wanted = findWantedFonts(parts(`#text(font: (${families}))[x]`));
    const suggest = vi.fn(() => "");
    describeMissingFamilies(wanted.families, wanted, FONTS, suggest);
    expect(suggest).toHaveBeenCalledTimes(10);
  });
});

it.each(EXAMPLE_NAMES)("the example %s needs nothing that a service does not have", async (name) => {
  const { source, files = {} } = JSON.parse(await exampleRequest(name));
  const entries = Object.entries<{ encoding: string; content: string }>(files).map(([key, { encoding, content }]) => ({
    key,
    bytes: Buffer.from(content, encoding === "text" ? "utf8" : "base64"),
  }));
  expect(describeMissing({ source, files: entries })).toEqual([]);
});

describe("a template that was made to take long", () => {
  // What looks at a text once for each thing in it takes minutes for these.
  const COUNT = 5000;
  const lines = (line: (index: number) => string) => Array.from({ length: COUNT }, (_, at) => line(at)).join("\n");

  it.each<[string, () => string, number]>([
    ["a name per line", () => lines((at) => `#let font-${at} = "Nope ${at}"\n#text(font: font-${at})[x]`), COUNT],
    ["a list per line", () => lines((at) => `#let v${at} = ("Nope ${at}",)\n#text(font: v${at})[x]`), COUNT],
    ["lists that are never closed", () => lines(() => '#text(font: ("Nope"'), 0],
    ["one long name", () => `font: ${"a.".repeat(3 * COUNT)}b)`, 0],
    ["parameters", () => `font: a)${"(a) ".repeat(COUNT)}${"(".repeat(COUNT)}${"a ".repeat(COUNT)})`, 0],
  ])("is read to its end: %s", (_what, source, count) => {
    expect(findWantedFonts(parts("", { "lib.typ": source() })).families).toHaveLength(count);
  });
});
