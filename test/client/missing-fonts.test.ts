/** Fonts and characters that neither a request nor the service has, by the text of the request. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { EMBEDDED_CODE_POINTS } from "../../backend/typst/embedded-fonts.ts";
import { type DocumentParts, describeMissing, missingFonts } from "../../client/missing-fonts.ts";
import type { FontFamily } from "../../protocol/capabilities.ts";
import { exampleNames, exampleRequest } from "../../scripts/example-request.ts";
import { liberation, nameTable, withTables } from "../support/fonts.ts";

/** Those of a service whose operator has added none. */
const FONTS: readonly FontFamily[] = Object.entries(EMBEDDED_CODE_POINTS).map(([family, code_points]) => ({
  family,
  variants: [],
  code_points,
}));

const bytes = (text: string) => new TextEncoder().encode(text);

function parts(source: string, { data = null, ...files }: { data?: string | null; [key: string]: unknown } = {}) {
  const entries = Object.entries(files).map(([key, content]) => ({
    key,
    bytes: content instanceof Uint8Array ? content : bytes(String(content)),
  }));
  return { source, data, files: entries } satisfies DocumentParts;
}

const familiesOf = (...request: Parameters<typeof parts>) => missingFonts(parts(...request), FONTS).families;
const charactersOf = (...request: Parameters<typeof parts>) =>
  missingFonts(parts(...request), FONTS).characters.join("");

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
    '#let person = (name: "Ada")\n#let width(name) = measure(text(font: name)[x])',
    '#let name = "Ada"\n#let width(name) = measure(text(font: name)[x])',
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

describe("characters that no font has", () => {
  it.each([
    ["日本語", "日本語"],
    ["简体中文", "中体文简"],
    ["한국어", "국어한"],
    ["ไทย", "ทยไ"],
    ["😀 and 👩‍👧", "👧👩😀"],
    ["🇩🇪", "🇩🇪"],
    ["private \u{100000}", "\u{100000}"],
    ["// 日本\nx 語", "語"],
    ["https://example.org/語", "語"],
    ['#"\\u{65e5}"', "日"],
    ['#"\\u{ffffff}"', ""],
    ["한", "한"],
  ])("are found in the source: %s", (source, expected) => {
    expect(charactersOf(source)).toBe(expected);
  });

  it.each([
    "Größe, naïve, Ελληνικά, Кириллица, Ω ≤ ∑ → € – “”",
    "e\u0301 x\u0308 q\u0323\u0307 Ą\u0301 Vie\u0323\u0302t",
    "soft\u00adhyphen zero\u200bwidth join\u200der non\u2011breaking byte\ufeff order",
    "spaces \u00a0\u2007\u2009\u202f\u3000 lines \u2028\u2029\u0085",
    "✔\ufe0e ☎\ufe0f right \u200f left \u2066x\u2069",
    "𝒜 𝕬 ℵ ∀",
    "control \u0001\u007f\u009f",
  ])("are none in ordinary text: %s", (source) => {
    expect(charactersOf(source)).toBe("");
  });

  it("are found in data, with and without escapes, and in files that documents show", () => {
    expect(charactersOf("", { data: '{"name": "山田", "city": "\\u6771\\u4EAC", "smile": "\\ud83d\\ude00"}' })).toBe(
      "京山東田😀",
    );
    expect(charactersOf("", { "rows.csv": "日", "lib/x.typ": "本", "logo.svg": "<text>語</text>" })).toBe("日本語");
    expect(charactersOf("", { "strings.json": '"\\u65e5"' })).toBe("日");
  });

  it("in other files count only if the template or the data names the file, and never in files that are not text", () => {
    expect(charactersOf("", { "README.md": "日", "OFL.txt": "本" })).toBe("");
    expect(charactersOf('#read("story.txt")', { "texts/story.txt": "日" })).toBe("日");
    expect(charactersOf("", { data: '{"text": "story.txt"}', "story.txt": "日" })).toBe("日");
    expect(charactersOf('#image("a.png")', { "a.png": Buffer.from([0x89, 0x50, 0xe6, 0x97, 0xa5, 0xff]) })).toBe("");
  });

  it("may be in a font of the request", async () => {
    const source = "Ω 日";
    const none = FONTS.map((font) => ({ ...font, code_points: "" }));
    expect(missingFonts(parts(source), none).characters).toEqual(["Ω", "日"]);
    const withFont = parts(source, { "a.ttf": await liberation("Regular") });
    expect(missingFonts(withFont, none).characters).toEqual(["日"]);
  });

  it("are not known if the service, or a font of the request, does not say what it has", async () => {
    const [first, ...others] = FONTS;
    const older = first === undefined ? [] : [{ family: first.family, variants: first.variants }, ...others];
    expect(missingFonts(parts('日 #text(font: "Nope")[]'), older)).toEqual({ families: ["Nope"], characters: [] });
    const cmap = Buffer.concat([Buffer.from([0, 0, 0, 1, 0, 3, 0, 1, 0, 0, 0, 12, 0, 2]), Buffer.alloc(600)]);
    const unknown = withTables(await liberation("Regular"), { cmap });
    expect(charactersOf("日", { "a.ttf": unknown })).toBe("");
  });
});

describe("the sentences", () => {
  it("name each family, and the first ten characters with their code points", () => {
    expect(describeMissing({ families: [], characters: [] })).toEqual([]);
    expect(describeMissing(missingFonts(parts('#text(font: "Nope")[日]'), FONTS))).toEqual([
      'The service has no font family "Nope", and the request brings none: Typst uses another font.',
      "No font of the service or of the request has 日 (U+65E5): Typst shows empty boxes instead.",
    ]);
    const [sentence = ""] = describeMissing(missingFonts(parts("零一二三四五六七八九十"), FONTS));
    expect(sentence).toMatch(/ and 1 more: /);
    expect(sentence.match(/U\+/g)).toHaveLength(10);
    expect(describeMissing({ families: [], characters: ["\u0e31"] })[0]).toContain("◌\u0e31 (U+0E31)");
  });
});

it.each(await exampleNames())("the example %s needs nothing that a service does not have", async (name) => {
  const { source, files = {}, data } = JSON.parse(await exampleRequest(name));
  const entries = Object.entries<{ encoding: string; content: string }>(files).map(([key, { encoding, content }]) => ({
    key,
    bytes: Buffer.from(content, encoding === "text" ? "utf8" : "base64"),
  }));
  const document = { source, files: entries, data: data === undefined ? null : JSON.stringify(data) };
  expect(missingFonts(document, FONTS)).toEqual({ families: [], characters: [] });
});

it("any text is read to its end, however it is cut", () => {
  const piece = fc.constantFrom(
    "font:",
    "(",
    ")",
    '"',
    "\\",
    "/*",
    "//",
    "\n",
    "name:",
    ",",
    "A",
    "日",
    "let a =",
    "font: a,",
    "+",
    "\ud800",
  );
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 60 }), (pieces) => {
      const { families } = missingFonts(parts(pieces.join(" ")), FONTS);
      expect(new Set(families).size).toBe(families.length);
    }),
  );
});
