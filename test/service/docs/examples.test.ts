/** Every example through the whole service, its file read by programs that the service does not use. */
import { readdir, readFile } from "node:fs/promises";
import { extname } from "node:path";
import { PNG } from "pngjs";
import { describe, expect, it } from "vitest";
import { EXAMPLE_NAMES } from "../../../protocol/routes.ts";
import { exampleRequest } from "../../../scripts/examples/example-request.ts";
import { fontNamesOf } from "../../support/fonts.ts";
import { readDisposition } from "../../support/readers/content-disposition.ts";
import { readPdf } from "../../support/readers/pdf-reader.ts";
import { readSvgSize } from "../../support/readers/svg-reader.ts";
import { readXmlElements } from "../../support/readers/xml-reader.ts";
import { readZip } from "../../support/readers/zip-reader.ts";
import { sharedService } from "../../support/service/test-service.ts";

const MEDIA_TYPES: Readonly<Record<string, string>> = {
  ".pdf": "application/pdf",
  ".png": "image/png",
  ".zip": "application/zip",
};

const service = await sharedService();

/** Renders an example, which must be a file of this name. */
async function renderExample(name: string, filename: string, type = "inline") {
  const answer = await service.render(await exampleRequest(name));
  const bytes = Buffer.from(await answer.bytes());
  expect(answer.status, bytes.toString("utf8")).toBe(200);
  expect(answer.headers.get("Content-Length")).toBe(String(bytes.length));
  expect(answer.headers.get("Cache-Control")).toBe("no-store");
  expect(answer.headers.get("Content-Type")).toBe(MEDIA_TYPES[extname(filename)]);
  expect(readDisposition(answer)).toMatchObject({ type, name: filename });
  return bytes;
}

it("every example has a test here, and a file for the playground", async () => {
  const entries = await readdir(new URL("../../../examples", import.meta.url));
  expect(entries.filter((name) => name !== "README.md" && name !== "programs").toSorted()).toEqual(EXAMPLE_NAMES);
  const tested = "accessible-letter brand-letter certificate e-invoice invoice label report slides";
  expect(EXAMPLE_NAMES).toEqual(tested.split(" "));
});

it("the e-invoice is a PDF/A-3b with the XML of the same invoice attached", async () => {
  const bytes = await renderExample("e-invoice", "invoice-WK-2026-0088.pdf");
  const pdf = await readPdf(bytes);
  expect(pdf.claims).toMatchObject({ "pdfaid:part": "3", "pdfaid:conformance": "B" });
  expect(pdf.attachments.map(({ name }) => name)).toEqual(["factur-x.xml"]);
  // As PDF/A-3 asks of an attachment: how it is related to the document, and what it is. pdf.js does not tell.
  expect(bytes.toString("latin1")).toMatch(/\/F\(factur-x\.xml\)[^>]*.{0,80}\/AFRelationship\/Alternative/);
  expect(bytes.toString("latin1")).toMatch(/\/Type\/EmbeddedFile[^>]*\/Subtype\/text#2Fxml/);

  const data: { number: string; buyer: { name: string }; lines: unknown[] } = JSON.parse(
    await readFile(new URL("../../../examples/e-invoice/data.json", import.meta.url), "utf8"),
  );
  const xml = Buffer.from(pdf.attachments[0]?.content ?? []).toString("utf8");
  const elements = readXmlElements(xml);
  const valuesAt = (path: string) =>
    elements.filter((element) => element.path === `CrossIndustryInvoice/${path}`).map(({ text }) => text);
  const trade = "SupplyChainTradeTransaction";
  expect(valuesAt("ExchangedDocument/ID")).toEqual([data.number]);
  // A name with & and <, which are neither lost nor markup.
  expect(valuesAt(`${trade}/ApplicableHeaderTradeAgreement/BuyerTradeParty/Name`)).toEqual([data.buyer.name]);
  expect(valuesAt(`${trade}/IncludedSupplyChainTradeLineItem`)).toHaveLength(data.lines.length);
  // By hand: 120 × 3.85 + 7.5 × 68.00 = 972.00 at 19 %, 3 × 24.95 = 74.85 at 7 %.
  const settlement = `${trade}/ApplicableHeaderTradeSettlement`;
  expect(valuesAt(`${settlement}/ApplicableTradeTax/BasisAmount`)).toEqual(["972.00", "74.85"]);
  expect(valuesAt(`${settlement}/ApplicableTradeTax/CalculatedAmount`)).toEqual(["184.68", "5.24"]);
  const sums = `${settlement}/SpecifiedTradeSettlementHeaderMonetarySummation`;
  expect(valuesAt(`${sums}/LineTotalAmount`)).toEqual(["1046.85"]);
  expect(valuesAt(`${sums}/GrandTotalAmount`)).toEqual(["1236.77"]);
});

// What their pages say is in the cases of the examples.
it("the XML of an invoice has a price below a cent as it is, and each reason for no VAT", async () => {
  const request: object = JSON.parse(await exampleRequest("e-invoice"));
  const path = new URL("../../../examples/e-invoice/cases/without-vat.json", import.meta.url);
  const answer = await service.render({ ...request, data: JSON.parse(await readFile(path, "utf8")) });
  const pdf = await readPdf(await answer.bytes());
  const xml = Buffer.from(pdf.attachments[0]?.content ?? []).toString("utf8");
  expect(xml).toContain("<ram:ChargeAmount>0.0349<");
  const reasons = [...xml.matchAll(/<ram:ExemptionReason>(.*?)<.*?<ram:CategoryCode>(\w+)</g)];
  expect(reasons.map(([, text, category]) => [category, text])).toEqual([
    ["E", "Vocational training, § 4 Nr. 21 UStG; Insurance, § 4 Nr. 10 UStG"],
    ["AE", "Reverse charge"],
  ]);
});

it("the certificate is one image of A5 landscape at 300 pixels per inch", async () => {
  const bytes = await renderExample("certificate", "certificate-LL-2026-0193.png");
  const { width, height } = PNG.sync.read(bytes);
  expect([width, height]).toEqual([2480, 1748]);
});

it("the slides are a ZIP of eight SVG files, 16 to 9", async () => {
  const bytes = await renderExample("slides", "mobile-boarding-review.zip", "attachment");
  const entries = readZip(bytes);
  expect(entries.map(({ name }) => name)).toEqual([1, 2, 3, 4, 5, 6, 7, 8].map((page) => `page-0${page}.svg`));
  for (const entry of entries) {
    const [width, height] = readSvgSize(entry.bytes);
    expect(width / height).toBeCloseTo(16 / 9, 2);
  }
});

// Their words are in reading-order/, and how they look in the cases of the examples.
it.each([
  ["invoice", "invoice-TH-2026-0417.pdf", 1, {}],
  ["report", "energy-review-2025.pdf", 9, {}],
  [
    "accessible-letter",
    "letter-ER-40128.pdf",
    2,
    { "pdfaid:part": "2", "pdfaid:conformance": "A", "pdfuaid:part": "1" },
  ],
  ["brand-letter", "letter-HM-2026-118.pdf", 1, {}],
])("the example %s is the PDF %s of %i pages, which claims what it asks for", async (name, filename, pages, claims) => {
  const pdf = await readPdf(await renderExample(name, filename));
  expect(pdf.headerVersion).toBe("1.7");
  expect(pdf.pageTexts).toHaveLength(pages);
  expect(pdf.claims).toMatchObject(claims);
  expect(pdf.isTagged).toBe(true);
});

describe("the brand letter", () => {
  it("is set in the fonts that come with it, and in no other", async () => {
    const bytes = await renderExample("brand-letter", "letter-HM-2026-118.pdf");
    expect(fontNamesOf(bytes)).toEqual(new Set(["HaldenGrotesk-Regular", "HaldenGrotesk-Bold"]));
  });

  it("is rejected without these fonts", async () => {
    const request: { files: Record<string, unknown> } = JSON.parse(await exampleRequest("brand-letter"));
    const files = Object.fromEntries(Object.entries(request.files).filter(([key]) => !key.startsWith("fonts/")));
    const answer = await service.render(JSON.stringify({ ...request, files }));
    expect([answer.status, await answer.json()]).toEqual([
      422,
      expect.objectContaining({ code: "template_compile_failed" }),
    ]);
  });
});
