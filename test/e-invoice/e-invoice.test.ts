/** Finishing e-invoices that the service has made of the example, and what is refused. `npm run test:pdf` asks other validators. */
import { beforeAll, describe, expect, it } from "vitest";
import { type FinishOptions, finishEInvoice } from "../../e-invoice/e-invoice.ts";
import { readInvoice } from "../../e-invoice/invoice-xml.ts";
import { PdfFile } from "../../e-invoice/pdf-file.ts";
import { exampleRequest } from "../../scripts/example-request.ts";
import { Random } from "../pdf/random.ts";
import { readPdf } from "../support/pdf-reader.ts";
import { startTestService, type TestService } from "../support/test-service.ts";

const FACTUR_X: FinishOptions = { format: "factur-x" };
let service: TestService;
let request: string;
let pdf: Uint8Array;
beforeAll(async () => {
  service = await startTestService();
  request = await exampleRequest("e-invoice");
  pdf = await rendered(request);
  return () => service.stop();
});

async function rendered(body: string): Promise<Uint8Array> {
  const answer = await service.render(body);
  if (!answer.ok) throw new Error(await answer.text());
  return answer.bytes();
}

/** The example with a word of its sources changed. */
async function changed(from: string, to: string): Promise<Uint8Array> {
  const literal = (text: string) => JSON.stringify(text).slice(1, -1);
  expect(request).toContain(literal(from));
  return rendered(request.replaceAll(literal(from), literal(to)));
}

async function rulesOf(bytes: Uint8Array, options: FinishOptions = FACTUR_X): Promise<string[]> {
  const finished = await finishEInvoice(bytes, options);
  return finished.ok ? [] : [...new Set(finished.findings.map(({ rule }) => rule))];
}

describe("a finished e-invoice", () => {
  it("is the PDF as it was with an update behind it, which has the metadata of Factur-X", async () => {
    const finished = await finishEInvoice(pdf, { format: "factur-x", profile: "EN 16931" });
    if (!finished.ok) throw new Error(JSON.stringify(finished.findings));
    expect(finished).toMatchObject({ profile: "EN 16931", warnings: [] });
    expect(Buffer.from(finished.pdf).indexOf(pdf)).toBe(0);
    const before = await readPdf(pdf);
    const after = await readPdf(finished.pdf);
    expect(after.pageTexts).toEqual(before.pageTexts);
    expect(after.attachments).toEqual(before.attachments);
    expect(after.claims).toEqual(before.claims);
    const members = /<fx:DocumentType>.*<\/fx:ConformanceLevel>/.exec(Buffer.from(finished.pdf).toString("latin1"));
    expect(members?.[0]).toBe(
      "<fx:DocumentType>INVOICE</fx:DocumentType><fx:DocumentFileName>factur-x.xml</fx:DocumentFileName>" +
        "<fx:Version>1.0</fx:Version><fx:ConformanceLevel>EN 16931</fx:ConformanceLevel>",
    );
  });

  it("is the same for the same PDF", async () => {
    expect(await finishEInvoice(pdf, FACTUR_X)).toEqual(await finishEInvoice(pdf, FACTUR_X));
  });

  it("is not finished again", async () => {
    const finished = await finishEInvoice(pdf, FACTUR_X);
    expect(finished.ok && (await rulesOf(finished.pdf))).toEqual(["finished-before"]);
  });
});

describe("an e-invoice is refused", () => {
  it.each([
    ["with the name of ZUGFeRD 1", '"factur-x.xml",\n  bytes', '"ZUGFeRD-invoice.xml",\n  bytes', "attachment-name"],
    ["with another name", '"factur-x.xml",\n  bytes', '"invoice.xml",\n  bytes', "attachment-name"],
    ["with the relationship of a supplement", '"alternative"', '"supplement"', "attachment-relationship"],
    ["with another media type", '"text/xml"', '"application/xml"', "attachment-type"],
    [
      "with a document type declaration",
      '\\"UTF-8\\"?>\\n',
      '\\"UTF-8\\"?><!DOCTYPE a [<!ENTITY b \\"c\\">]>\\n',
      "xml-doctype",
    ],
    ["in another encoding", 'encoding=\\"UTF-8\\"', 'encoding=\\"ISO-8859-1\\"', "xml-encoding"],
    ["with XML that is not well-formed", 'root.xml + "\\n"', 'root.xml + "<"', "xml-syntax"],
    ["with a guideline of no profile", '"urn:cen.eu:en16931:2017"', '"urn:cen.eu:en16931:2018"', "profile"],
    ["with a member that the schema does not have", '"ram:BuyerReference"', '"ram:BuyersReference"', "schema"],
    [
      "with a total that is a cent too high",
      'e("ram:GrandTotalAmount", amount(sums.gross))',
      'e("ram:GrandTotalAmount", amount(sums.gross + decimal("0.01")))',
      "BR-CO-15",
    ],
  ])("%s", async (_, from, to, rule) => {
    expect(await rulesOf(await changed(from, to))).toContain(rule);
  });

  it("of another format or profile than is wanted", async () => {
    expect(await rulesOf(pdf, { format: "factur-x", profile: "EXTENDED" })).toEqual(["profile"]);
    expect(
      await rulesOf(await changed('"factur-x.xml",\n  bytes', '"xrechnung.xml",\n  bytes'), { format: "xrechnung" }),
    ).toEqual(["profile"]);
    expect(await rulesOf(pdf, { format: "xrechnung" })).toEqual(["attachment-name"]);
  });

  it("when the PDF is no PDF/A-3", async () => {
    const plain = '#set document(title: "T")\nHello';
    expect(await rulesOf(await rendered(JSON.stringify({ source: plain })))).toEqual(["pdf-a-3"]);
    expect(await rulesOf(await rendered(JSON.stringify({ source: plain, output: { standards: ["a-2b"] } })))).toEqual([
      "pdf-a-3",
    ]);
  });
});

describe("a file that is made to harm", () => {
  const edited = (from: string, to: string) => {
    const text = Buffer.from(pdf).toString("latin1");
    expect(text).toContain(from);
    return Buffer.from(text.replace(from, to.padEnd(from.length)), "latin1");
  };

  it.each([
    ["nothing", ""],
    ["no PDF", "GIF89a"],
    ["only a beginning", "%PDF-1.7\n"],
    ["a table outside of the file", "%PDF-1.7\nstartxref\n9999\n%%EOF"],
  ])("is refused: %s", async (_, text) => expect(await rulesOf(Buffer.from(text))).toEqual(["pdf-structure"]));

  it("is refused when it is cut off, encrypted, or leads in a circle", async () => {
    expect(await rulesOf(pdf.subarray(0, pdf.length - 200))).toEqual(["pdf-structure"]);
    expect(await rulesOf(edited("/Info", "/Encrypt"))).toEqual(["pdf-structure"]);
    const { 1: start = "" } = /startxref\s+(\d+)/.exec(Buffer.from(pdf).toString("latin1")) ?? [];
    expect(await rulesOf(edited("/Info 104 0 R", `/Prev ${start}`))).toEqual(["pdf-structure"]);
  });

  it("never ends in an exception, whatever bytes are changed", async () => {
    const random = new Random(1);
    for (let round = 0; round < 300; round++) {
      const bytes = Uint8Array.from(pdf);
      // Half of them in the last part, which has the table and the trailer.
      const first = round % 2 === 0 ? 0 : bytes.length - 3000;
      for (let change = 0; change < 3; change++) bytes[random.whole(first, bytes.length - 1)] = random.whole(0, 255);
      expect(await finishEInvoice(bytes, { format: "factur-x", profile: "MINIMUM" })).toHaveProperty("ok", false);
    }
  });

  it("is refused when its XML is nested without end", () => {
    const xml = `${"<a>".repeat(100_000)}${"</a>".repeat(100_000)}`;
    const read = readInvoice(Buffer.from(xml), "factur-x", null);
    expect(read).toMatchObject({ ok: false, findings: [{ rule: "xml-syntax" }] });
  });

  it("is decoded up to the limit, and no further", () => {
    const file = new PdfFile(pdf);
    const [attachment] = file.array(file.catalog.get("AF")) ?? [];
    const embedded = file.dictionary(file.dictionary(attachment)?.get("EF"));
    // One of them is encoded by Flate, the other is not.
    for (const reference of [embedded?.get("F"), file.catalog.get("Metadata")]) {
      const { length } = file.stream(reference, 1_000_000)?.data ?? [];
      expect(file.stream(reference, length)?.data).toHaveLength(length);
      expect(() => file.stream(reference, length - 1)).toThrow(`more than ${length - 1} bytes`);
    }
  });
});
