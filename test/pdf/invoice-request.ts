/** A request that renders a generated invoice: a page for people, with the XML attached. */
import type { Invoice } from "./invoice.ts";

/** All kinds of files that can be finished, used in turn. */
const STANDARDS = [["a-3b"], ["a-3u"], ["a-3a"], ["a-3a", "ua-1"]];

const TEMPLATE = `
#let invoice = data.invoice
#set document(title: "Invoice " + invoice.number, author: invoice.seller, date: datetime(year: 2026, month: 10, day: 5))
#set text(lang: "de")
#set page(numbering: "1 / 1")
#pdf.attach(data.name, read("invoice.xml", encoding: none), relationship: data.relationship, mime-type: "text/xml",
  description: "The invoice as XML")
#if data.annex { pdf.attach("annex.csv", bytes("a;b"), relationship: "supplement", mime-type: "text/csv", description: "Annex") }
#title()
= #invoice.seller
#table(columns: (1fr, auto), table.header[Item][Net], ..invoice.lines.flatten())
#strong(invoice.due)
`;

export function invoiceRequest(invoice: Invoice, xml: string, seed: number): object {
  const isData = invoice.profile === "MINIMUM" || invoice.profile === "BASIC WL";
  return {
    source: TEMPLATE,
    files: { "invoice.xml": { encoding: "text", content: xml } },
    data: {
      name: invoice.profile === "XRECHNUNG" ? "xrechnung.xml" : "factur-x.xml",
      relationship: isData ? "data" : "alternative",
      annex: seed % 3 === 1,
      invoice: {
        number: invoice.number,
        seller: invoice.seller.name,
        lines: invoice.lines.map(({ name, net }) => [name, String(net)]),
        due: String(invoice.dueAmount),
      },
    },
    output: { standards: STANDARDS[seed % STANDARDS.length] ?? ["a-3b"] },
  };
}
