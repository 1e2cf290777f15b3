/** The fonts of finished PDFs, by the real Typst. */
import { describe, expect, it } from "vitest";
import { readDocumentFonts } from "../../../../clients/document/fonts/document-fonts.ts";
import { describeDocumentFonts } from "../../../../clients/document/fonts/font-findings.ts";
import {
  examplesOf,
  isCovered,
  isShaped,
  SCRIPTS,
  SCRIPTS_OF_TYPST,
  scriptOf,
} from "../../../../typst/fonts/scripts.ts";
import { typstPdf } from "../../../support/backend/typst-pdf.ts";
import { writeProject } from "../../../support/clients/command-line.ts";
import { colourTables, liberation, nameTable, withTables } from "../../../support/fonts.ts";
import { makeTemporaryFolder } from "../../../support/temporary-folder.ts";

const read = async (source: string, options: readonly string[] = []) => {
  const fonts = readDocumentFonts(await typstPdf(source, [], options));
  if (fonts === null) throw new Error("it was not read");
  return fonts;
};

const findingsIn = async (source: string, named: readonly string[] = []) =>
  describeDocumentFonts(await read(source), new Set(named));

describe("the fonts of a document", () => {
  it("are read with the characters that each of them shows", async () => {
    const { fonts, boxes } = await read("Größe (x) א *bold* `code` $a$");
    const byName = Object.fromEntries(fonts.map(({ name, characters }) => [name, [...characters].sort().join("")]));
    expect(byName["LibertinusSerif-Regular"]).toBe(" ()Gerxßöא");
    expect(byName["LibertinusSerif-Bold"]).toBe("bdlo");
    expect(byName.DejaVuSansMono).toBe("cdeo");
    expect(boxes).toBe(0);
  });

  it("have boxes, of which all but the first character are told", async () => {
    const { boxes, boxedCharacters } = await read("山田さん (\\\\ 山) 🚀");
    expect(boxes).toBe(6);
    expect([...boxedCharacters].sort()).toEqual(["さ", "ん", "山", "田", "🚀"].sort().filter((each) => each !== "山"));
  });

  it("are found in headers, tables, rotated and scaled text, patterns and images", async () => {
    const svg = `bytes("<svg xmlns=\\"http://www.w3.org/2000/svg\\" width=\\"90\\" height=\\"20\\"><text y=\\"15\\">svg</text></svg>")`;
    const { boxes } = await read(
      `#set page(header: [山], background: rotate(30deg)[山])\n#table[山]\n#rect(fill: tiling(size: (20pt, 20pt))[山])\n#image(${svg})`,
    );
    expect(boxes).toBe(4);
  });

  it("have no boxes in coloured signs, whose glyphs have a byte each", async () => {
    const LETTER_A = 36;
    const tables = { name: nameTable("Coloured"), ...colourTables(LETTER_A) };
    const folder = await makeTemporaryFolder("document-fonts-test-");
    await writeProject(folder, { "coloured.ttf": withTables(await liberation("Regular"), tables) });
    const source = '#set text(font: ("Coloured", "Libertinus Serif"))\nAAAA AAA b 山山';
    const options = ["--font-path", folder];
    expect((await typstPdf(source, [], options)).toString("latin1")).toContain("/Subtype/Type3");
    expect((await read(source, options)).boxes).toBe(2);
  });

  it("are those of all pages, and of a page that is used twice once", async () => {
    expect((await read("#for i in range(150) [山 #pagebreak()]")).boxes).toBe(150);
  });

  it("are not guessed: what is no PDF by Typst is not read", async () => {
    const pdf = await typstPdf("x", []);
    for (const bytes of [new Uint8Array(), pdf.subarray(0, 500), Buffer.from("%PDF-1.7\nstartxref\n0\n%%EOF")]) {
      expect(readDocumentFonts(bytes)).toBeNull();
    }
  });

  it("cannot be forged by text and metadata", async () => {
    const source = `#set document(title: "/Type /Font << (\\\\0\\\\0) >> Tj", keywords: ("endobj", "stream"))
      #metadata("x") Text: (\\\\000\\\\000)Tj <FEFF5C71>>>BDC /BaseFont /DejaVuSansMono \\\\ ((()`;
    const { boxes, fonts } = await read(source);
    expect(boxes).toBe(0);
    expect(fonts.map(({ name }) => name)).toEqual(["LibertinusSerif-Regular"]);
  });
});

describe("a finding", () => {
  it.each([
    ["नमस्ते", "Devanagari", "New Computer Modern Math, a font for formulas"],
    ["مرحبا", "Arabic", "DejaVu Sans Mono, a font for code"],
    ["ສະບາຍດີ", "Lao", "DejaVu Sans Mono, a font for code"],
  ])("is a script whose letters are in a font for something else: %s", async (text, script, font) => {
    const [first, ...others] = await findingsIn(text);
    expect(first).toMatch(new RegExp(`letters of ${script}(?: and .*)?, so Typst sets them in ${font}`));
    expect(others.filter((other) => !/empty box/.test(other))).toEqual([]);
  });

  it("is icons that a font for text has under their code points", async () => {
    expect(await findingsIn('#"\\u{f133}" and #"\\u{f1c1}"', ["new computer modern"])).toEqual([
      expect.stringMatching(
        /^No icon font has .*U\+F133.*U\+F1C1.*, so Typst draws other signs of New Computer Modern/,
      ),
    ]);
  });

  it("is none if the templates name that font", async () => {
    expect(await findingsIn("مرحبا", ["dejavu sans mono"])).toEqual([]);
  });

  it.each(["Grüße `code` $x + alpha$", "Ελληνικά Русский Հայերեն ქართული עברית ᏣᎳᎩ ⲙⲛⲧ", '#raw("привет")'])(
    "is none in text that is as it should be: %s",
    async (text) => {
      expect(await findingsIn(text)).toEqual([]);
    },
  );

  it("names at most ten characters", async () => {
    const [sentence = ""] = await findingsIn("一二三四五六七八九十百千");
    expect(sentence).toContain("12 characters of the document are empty boxes, among them 二 (U+4E8C), 三");
    expect(sentence.match(/U\+/g)).toHaveLength(10);
  });
});

describe("scripts", () => {
  it("of Typst's own fonts are those whose letters they all have", async () => {
    const { fonts } = await read(
      SCRIPTS.map((script) => String.fromCodePoint(...examplesOf(script)).replace(/./gu, "$& ")).join("\n\n"),
    );
    const text = fonts.filter(({ name }) => /^(?:Libertinus|NewCM10)/.test(name));
    const characters = new Set(text.flatMap((font) => [...font.characters]));
    const has = (codePoint: number) => characters.has(String.fromCodePoint(codePoint));
    expect(SCRIPTS.filter((script) => isCovered(script, has))).toEqual(SCRIPTS_OF_TYPST);
  });

  it("have letters, which are theirs", () => {
    for (const script of SCRIPTS) {
      const letters = examplesOf(script).map((codePoint) => String.fromCodePoint(codePoint));
      expect(letters.length, script).toBeGreaterThanOrEqual(20);
      expect(scriptOf(letters[0] ?? "")).toBe(script);
    }
    expect(scriptOf("1")).toBeNull();
    expect(isShaped("Deva")).toBe(true);
    expect(isShaped("Latn")).toBe(false);
  });
});
