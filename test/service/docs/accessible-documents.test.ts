/** "What an accessible document needs" in docs/templates.md: what Typst makes of templates, read from the tags. */
import { describe, expect, it } from "vitest";
import { PdfFile } from "../../../clients/e-invoice/pdf-file.ts";
import { PdfString } from "../../../clients/e-invoice/pdf-syntax.ts";
import { readTagTree } from "../../support/readers/tag-tree.ts";
import { sharedService } from "../../support/service/test-service.ts";

const service = await sharedService();

/** With room for what floats. */
const SMALL_PAGE = "#set page(height: 70mm, width: 120mm)\n";
const DRAWING = "block(height: 5mm, place(dx: 4mm)[Label])";

async function render(source: string, standards: readonly string[]) {
  const answer = await service.render({ source: `#set document(title: "T")\n${source}`, output: { standards } });
  return { status: answer.status, bytes: Buffer.from(await answer.bytes()) };
}

/** The lines below the root, without their indent. */
async function tagsOf(source: string): Promise<string[]> {
  const { status, bytes } = await render(source, ["a-2a", "ua-1"]);
  expect(status, bytes.toString("utf8")).toBe(200);
  const lines = (await readTagTree(bytes)).trimEnd().split("\n").slice(1);
  return lines.map((line) => line.trim());
}

describe("Typst's tags are as the page says:", () => {
  it.each<[claim: string, source: string, tags: readonly string[]]>([
    ["large text is a paragraph", "#text(size: 30pt)[Large]\n\n= Real", ["P: Large", "H1: Real"]],
    ["a title is a paragraph", "#title()\n\nText", ["P: T", "P: Text"]],
    ["a show rule leaves a heading one", "#show heading: it => block(text(7pt, it.body))\n= Label", ["H1: Label"]],
    [
      "headers, footers and backgrounds are not read",
      "#set page(header: [H], footer: [F], background: [B])\nText\n\nMore",
      ["P: Text", "P: More"],
    ],
    ["a drawing without alt is read label by label", `#${DRAWING}\n\nMore`, ['"Label"', "P: More"]],
    ["what has an alt is not read itself", `#figure(${DRAWING}, alt: "Drawing")`, ['Figure "Drawing"']],
    ["ornament and shapes are not read", "#pdf.artifact[Seal] #circle() Text\n\nMore", ["P: Text", "P: More"]],
    [
      "grids are read row by row",
      "#grid(columns: 2, [1], [2], [3], [4])",
      ["Div", "Div: 1", "Div: 2", "Div: 3", "Div: 4"],
    ],
    [
      "tables have headers for columns, and a foot",
      "#table(columns: 1, table.header[H], [a], table.footer[z])",
      ["Table", "THead", "TR > TH column: H", "TBody", "TR > TD: a", "TFoot", "TR > TD: z"],
    ],
    [
      "captions come first, wherever they stand",
      "#figure(table(columns: 1, table.header[H], [a]), caption: [Below])",
      ["Table", "Caption: Table 1: Below", "THead", "TR > TH column: H", "TBody", "TR > TD: a"],
    ],
    [
      "what floats is read where it stands in the source",
      `${SMALL_PAGE}First.\n\n#place(bottom, float: true)[Floating]\n\nLast. #lorem(3)`,
      ["P: First.", '"Floating"', "P: Last. Lorem ipsum dolor."],
    ],
    [
      "a footnote is read at its mark",
      `${SMALL_PAGE}Word#footnote[Note.] goes on.`,
      ["P", '"Word"', "Lbl: <Link: 1>", "Note", "Lbl: <Link: 1>", '"Note."', '"goes on."'],
    ],
    [
      "a place cuts a paragraph in two",
      "One #place(top + right)[Placed] two.\n\nMore",
      ["P: One", '"Placed"', "P: two.", "P: More"],
    ],
    ["a gap is no space", "One#h(2mm)two\n\nMore", ["P: Onetwo", "P: More"]],
  ])("%s", async (_, source, tags) => {
    expect(await tagsOf(source)).toEqual(tags);
  });

  it.each([
    ["of the rule for all of the text", '#set text(lang: "de")\n#text(lang: "fr")[Bonjour]\n\nTag', "de"],
    [
      "of the first words",
      '#let letter(body) = { text(lang: "la")[Ad astra]; set text(lang: "de"); body }\n#letter[Tag]',
      "la",
    ],
    ["English", "Guten Tag", "en"],
  ])("the language is that %s", async (_, source, language) => {
    const { bytes } = await render(source, ["ua-1"]);
    expect(new PdfFile(bytes).catalog.get("Lang")).toEqual(new PdfString(language));
  });

  it("a paragraph has the language of its first words", async () => {
    const { bytes } = await render('#set text(lang: "de")\n#text(lang: "fr")[Bonjour] sagte er.\n\nMehr.', ["ua-1"]);
    expect(bytes.toString("latin1")).toMatch(/\/S\/P\/P \d+ 0 R\/Lang ?\(fr\)/);
  });

  it.each([
    [[], false],
    [["a-2b"], false],
    [["a-2a"], false],
    [["a-4"], false],
    [["ua-1"], true],
    [["a-2a", "ua-1"], true],
  ])("the window has the document's title under %j: %s", async (standards, isShown) => {
    const { bytes } = await render("Text", standards);
    expect(bytes.includes("/DisplayDocTitle true")).toBe(isShown);
  });

  it.each(["header-cell", "table-summary"])("pdf.%s is not there", async (name) => {
    expect((await render(`#pdf.${name}`, [])).status).toBe(422);
  });
});
