/**
 * Finishes e-invoices that the service has made from the example, and refuses bad ones. `npm run test:long -- pdf` uses other
 * validators.
 */
import fc from "fast-check";
import { beforeAll, describe, expect, it } from "vitest";
import { findAttachment } from "../../../clients/e-invoice/attachment.ts";
import { type FinishOptions, finishEInvoice } from "../../../clients/e-invoice/e-invoice.ts";
import { readInvoice } from "../../../clients/e-invoice/invoice-xml.ts";
import { readMetadata } from "../../../clients/e-invoice/metadata.ts";
import { PdfFile } from "../../../clients/e-invoice/pdf-file.ts";
import { PdfReference } from "../../../clients/e-invoice/pdf-syntax.ts";
import { exampleRequest } from "../../../scripts/examples/example-request.ts";
import { readPdf } from "../../support/readers/pdf-reader.ts";
import { sharedService } from "../../support/service/test-service.ts";

const FACTUR_X: FinishOptions = { format: "factur-x" };
const service = await sharedService();
let request: string;
let pdf: Uint8Array;
beforeAll(async () => {
  request = await exampleRequest("e-invoice");
  pdf = await rendered(request);
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

/** A file with one object. */
const withObject = (object: string) =>
  Buffer.from(
    `%PDF-1.7\n${object}\nxref\n1 1\n0000000009 00000 n \ntrailer\n<</Root 1 0 R>>\nstartxref\n${10 + object.length}\n%%EOF\n`,
  );

async function rulesOf(bytes: Uint8Array, options: FinishOptions = FACTUR_X): Promise<string[]> {
  const finished = await finishEInvoice(bytes, options);
  return finished.ok ? [] : [...new Set(finished.findings.map(({ rule }) => rule))];
}

describe("a finished e-invoice", () => {
  it("is always the original PDF with the same update, which has the metadata of Factur-X", async () => {
    const finished = await finishEInvoice(pdf, { format: "factur-x", profile: "EN 16931" });
    if (!finished.ok) throw new Error(JSON.stringify(finished.findings));
    expect(await finishEInvoice(pdf, FACTUR_X)).toEqual(finished);
    expect(finished).toMatchObject({ profile: "EN 16931" });
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

  it("is not finished again, even if another program has written it anew", async () => {
    const finished = await finishEInvoice(pdf, FACTUR_X);
    expect(finished.ok && (await rulesOf(finished.pdf))).toEqual(["finished-before"]);
    const metadata = `<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#"><rdf:Description
      xmlns:pdfaid="http://www.aiim.org/pdfa/ns/id/" pdfaid:part="3" pdfaid:conformance="B"
      xmlns:fx="urn:factur-x:pdfa:CrossIndustryDocument:invoice:1p0#" fx:DocumentType="INVOICE"/></rdf:RDF>`;
    const stream = `1 0 obj<</Metadata 1 0 R/Length ${metadata.length}>>stream\n${metadata}\nendstream`;
    expect(await rulesOf(withObject(stream))).toEqual(["finished-before"]);
  });
});

it("whose attachment is only data, from a seller in Germany, is finished with a note", async () => {
  const asData = await finishEInvoice(await changed('"alternative"', '"data"'), FACTUR_X);
  expect(asData).toMatchObject({ ok: true, notes: [{ rule: "attachment-relationship" }] });
  expect(await finishEInvoice(pdf, FACTUR_X)).toMatchObject({ ok: true, notes: [] });
});

describe("an e-invoice is refused", () => {
  it.each([
    ["with the name of ZUGFeRD 1", '"factur-x.xml",\n  bytes', '"ZUGFeRD-invoice.xml",\n  bytes', "attachment-name"],
    ["with another name", '"factur-x.xml",\n  bytes', '"invoice.xml",\n  bytes', "attachment-name"],
    ["with the relationship of a supplement", '"alternative"', '"supplement"', "attachment-relationship"],
    ["with another media type", '"text/xml"', '"application/xml"', "attachment-type"],
    ["with a guideline of no profile", '"urn:cen.eu:en16931:2017"', '"urn:cen.eu:en16931:2018"', "profile"],
  ])("%s", async (_, from, to, rule) => {
    expect(await rulesOf(await changed(from, to))).toContain(rule);
  });

  it("with the guideline of France's EXTENDED-CTC-FR, and is told which to write", async () => {
    const guideline = "urn:cen.eu:en16931:2017#conformant#urn.cpro.gouv.fr:1p0:extended-ctc-fr";
    const french = await changed('"urn:cen.eu:en16931:2017"', JSON.stringify(guideline));
    const message = expect.stringMatching(/write urn:cen\.eu:en16931:2017#conformant#urn:factur-x\.eu:1p0:extended\.$/);
    expect(await finishEInvoice(french, FACTUR_X)).toMatchObject({ findings: [{ rule: "profile", message }] });
  });

  it("if it has a format or profile other than the wanted one", async () => {
    expect(await rulesOf(pdf, { format: "factur-x", profile: "EXTENDED" })).toEqual(["profile"]);
    expect(
      await rulesOf(await changed('"factur-x.xml",\n  bytes', '"xrechnung.xml",\n  bytes'), { format: "xrechnung" }),
    ).toEqual(["profile"]);
    expect(await rulesOf(pdf, { format: "xrechnung" })).toEqual(["attachment-name"]);
  });

  it("if the PDF is not PDF/A-3", async () => {
    const plain = '#set document(title: "T")\nHello';
    expect(await rulesOf(await rendered(JSON.stringify({ source: plain })))).toEqual(["pdf-a-3"]);
    expect(await rulesOf(await rendered(JSON.stringify({ source: plain, output: { standards: ["a-2b"] } })))).toEqual([
      "pdf-a-3",
    ]);
  });
});

describe("a hostile file", () => {
  const edited = (from: RegExp, to: string) => {
    const text = Buffer.from(pdf).toString("latin1");
    expect(text).toMatch(from);
    return Buffer.from(
      text.replace(from, (it) => to.padEnd(it.length)),
      "latin1",
    );
  };

  it.each([
    ["nothing", ""],
    ["no PDF", "GIF89a"],
    ["only a beginning", "%PDF-1.7\n"],
    ["a table outside of the file", "%PDF-1.7\nstartxref\n9999\n%%EOF"],
  ])("is refused: %s", async (_, text) => expect(await rulesOf(Buffer.from(text))).toEqual(["pdf-structure"]));

  it("is refused if it is cut off, encrypted, or has no catalog", async () => {
    expect(await rulesOf(pdf.subarray(0, pdf.length - 200))).toEqual(["pdf-structure"]);
    expect(await rulesOf(edited(/\/Info \d+ 0 R/, "/Encrypt 4 0 R"))).toEqual(["pdf-structure"]);
    expect(await rulesOf(edited(/\/Root \d+ 0 R/, "/Root 999 0 R"))).toEqual(["pdf-structure"]);
  });

  it("never ends in an exception, whatever bytes are changed", async () => {
    // Half of them in the last part, which has the table and the trailer.
    const place = fc.oneof(
      fc.nat(pdf.length - 1),
      fc.nat(2999).map((fromEnd) => pdf.length - 1 - fromEnd),
    );
    const changes = fc.array(fc.tuple(place, fc.nat(255)), { minLength: 3, maxLength: 3 });
    const property = fc.asyncProperty(changes, async (changed) => {
      const bytes = Uint8Array.from(pdf);
      for (const [at, value] of changed) bytes[at] = value;
      expect(await finishEInvoice(bytes, { format: "factur-x", profile: "MINIMUM" })).toHaveProperty("ok", false);
    });
    await fc.assert(property, { numRuns: 150 });
  });

  it("is refused if an object is too large, or objects are read too often", () => {
    const ofSize = (bytes: number) => new PdfFile(withObject(`1 0 obj<<${" ".repeat(bytes)}>>`));
    const file = ofSize(1_500_000);
    expect(file.resolve(new PdfReference(1))).toEqual(new Map());
    for (const large of [file, ofSize(4_200_000)]) expect(() => large.catalog).toThrow("too large");
  });

  it("is refused if two attachments have the name of the invoice, even among thousands", () => {
    const names = `${"(a)<</UF (a)>>".repeat(10_000)}${"(factur-x.xml)<</UF (factur-x.xml)>>".repeat(2)}`;
    const file = new PdfFile(withObject(`1 0 obj<</Names <</EmbeddedFiles <</Names [${names}]>>>>>>`));
    const message = "Two attachments are named factur-x.xml.";
    expect(findAttachment(file, "factur-x")).toMatchObject({ ok: false, findings: [{ message }] });
  });

  it("is refused if its objects are nested too deeply", () => {
    const nested = (depth: number) => new PdfFile(withObject(`1 0 obj<</A ${"[".repeat(depth)}${"]".repeat(depth)}>>`));
    expect(() => nested(64).catalog).not.toThrow();
    expect(() => nested(65).catalog).toThrow("too deeply");
  });

  it.each([
    ["256 levels, which are read", `${"<a>".repeat(256)}${"</a>".repeat(256)}`, "profile"],
    ["one level more", `${"<a>".repeat(257)}${"</a>".repeat(257)}`, "xml-size"],
    ["200,000 elements, which are read", `<a>${"<b/>".repeat(199_999)}</a>`, "profile"],
    ["one element more", `<a>${"<b/>".repeat(200_000)}</a>`, "xml-size"],
    ["a document type declaration", '<!DOCTYPE a [<!ENTITY b "c">]><a/>', "xml-doctype"],
    ["another encoding", '<?xml version="1.0" encoding="ISO-8859-1"?><a/>', "xml-encoding"],
    ["XML that is not well-formed", "<a><", "xml-syntax"],
    ["a prefix that nothing declares", "<b:a/>", "xml-syntax"],
    ["a reference to an entity that nothing declares", "<a>&b;</a>", "xml-syntax"],
    ["a character that XML does not have", "<a>\u0001</a>", "xml-syntax"],
  ])("is refused if its XML is hostile: %s", (_, xml, rule) => {
    expect(readInvoice(Buffer.from(xml), "factur-x", null)).toMatchObject({ ok: false, findings: [{ rule }] });
  });

  const readRdf = (inside: string) =>
    readMetadata(Buffer.from(`<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#">${inside}</rdf:RDF>`));

  it("is refused if its metadata is nested without end", () => {
    const nested = (depth: number) => readRdf(`${"<a>".repeat(depth)}${"</a>".repeat(depth)}`);
    expect(nested(100)).toMatchObject({ pdfA: null });
    expect(nested(100_000)).toBeNull();
  });

  it("gets well-formed metadata even if the schemas, which are changed, are in its identifier", () => {
    const schemas = '<e:schemas xmlns:e="http://www.aiim.org/pdfa/ns/extension/"><rdf:Bag></rdf:Bag></e:schemas>';
    const metadata = readRdf(`<m:InstanceID xmlns:m="http://ns.adobe.com/xap/1.0/mm/">${schemas}</m:InstanceID>`);
    const profile = { name: "BASIC", format: "factur-x", guideline: "", relationships: [], version: "1.0" } as const;
    const finished = metadata?.finished(profile, "factur-x.xml", "1");
    expect(finished && readMetadata(finished)).toMatchObject({ isFinished: true });
  });

  it("is not quoted at length", () => {
    const read = readInvoice(Buffer.from(`<${"a".repeat(10_000)}/>`), "factur-x", null);
    expect(!read.ok && read.findings[0]?.message).toHaveLength(1000);
  });

  it("is decoded only up to the limit", () => {
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
