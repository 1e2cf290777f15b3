/** The XMP metadata of a PDF: reads what it claims, and adds what makes it an e-invoice (Factur-X 1.09, 6.2). */
import { type Document, type Element, parseXmlDocument, serializeToWellFormedString } from "slimdom";
import type { Profile } from "./profiles.ts";
import { readXml } from "./xml-document.ts";

const RDF = "http://www.w3.org/1999/02/22-rdf-syntax-ns#";
const PDFA_ID = "http://www.aiim.org/pdfa/ns/id/";
const EXTENSION = "http://www.aiim.org/pdfa/ns/extension/";
const MEDIA_MANAGEMENT = "http://ns.adobe.com/xap/1.0/mm/";
const FACTUR_X = "urn:factur-x:pdfa:CrossIndustryDocument:invoice:1p0#";

/** The description that PDF/A requires of each property outside its own schemas: the name, and what the property means. */
const PROPERTIES = {
  DocumentFileName: "name of the embedded XML invoice file",
  DocumentType: "INVOICE",
  Version: "The actual version of the Factur-X XML schema",
  ConformanceLevel: "The conformance level of the embedded Factur-X data",
};

export interface Metadata {
  /** Part and conformance of PDF/A, as `3B`; null if it claims none. */
  readonly pdfA: string | null;
  /** Whether it already has the metadata of an e-invoice. */
  readonly isFinished: boolean;
  /** The packet with the metadata of this invoice and the identifier of the changed file. */
  readonly finished: (profile: Profile, attachment: string, instanceId: string) => Uint8Array;
}

/** Reads a packet; null if it is not XMP. */
export function readMetadata(packet: Uint8Array): Metadata | null {
  const document = parsed(packet);
  const rdf = document?.getElementsByTagNameNS(RDF, "RDF")[0];
  if (document == null || rdf === undefined) return null;
  const part = property(rdf, PDFA_ID, "part");
  return {
    pdfA: part === null ? null : part + (property(rdf, PDFA_ID, "conformance") ?? ""),
    isFinished: Object.keys(PROPERTIES).some((name) => property(rdf, FACTUR_X, name) !== null),
    finished: (profile, attachment, instanceId) => {
      addInvoice(document, rdf, profile, attachment);
      const [instance] = rdf.getElementsByTagNameNS(MEDIA_MANAGEMENT, "InstanceID");
      if (instance !== undefined) instance.textContent = instanceId;
      return new TextEncoder().encode(serializeToWellFormedString(document));
    },
  };
}

function parsed(packet: Uint8Array): Document | null {
  try {
    const read = readXml(new TextDecoder("utf-8", { fatal: true }).decode(packet));
    return read.ok ? read.value : null;
  } catch {
    return null;
  }
}

/** A simple property, as an element or an attribute of a description. */
function property(rdf: Element, namespace: string, name: string): string | null {
  const [element] = rdf.getElementsByTagNameNS(namespace, name);
  if (element !== undefined) return (element.textContent ?? "").trim();
  const descriptions = rdf.children.filter((child) => child.namespaceURI === RDF && child.localName === "Description");
  return descriptions.find((child) => child.hasAttributeNS(namespace, name))?.getAttributeNS(namespace, name) ?? null;
}

function addInvoice(document: Document, rdf: Element, { name, version }: Profile, attachment: string): void {
  const values = { DocumentType: "INVOICE", DocumentFileName: attachment, Version: version, ConformanceLevel: name };
  const members = Object.entries(values).map(([member, value]) => `<fx:${member}>${value}</fx:${member}>`);
  const invoice = `<rdf:Description rdf:about="" xmlns:fx="${FACTUR_X}">${members.join("")}</rdf:Description>`;
  rdf.append(imported(document, invoice));
  // A property may occur only once, so the schema is added to those that the file already describes.
  const [schemas] = rdf.getElementsByTagNameNS(EXTENSION, "schemas");
  const bag = schemas?.children.find((child) => child.namespaceURI === RDF && child.localName === "Bag");
  if (bag !== undefined) bag.append(imported(document, SCHEMA));
  else
    rdf.append(
      imported(
        document,
        `<rdf:Description rdf:about=""><pdfaExtension:schemas><rdf:Bag>${SCHEMA}</rdf:Bag></pdfaExtension:schemas></rdf:Description>`,
      ),
    );
}

const SCHEMA = [
  '<rdf:li rdf:parseType="Resource">',
  "<pdfaSchema:schema>Factur-X PDFA Extension Schema</pdfaSchema:schema>",
  `<pdfaSchema:namespaceURI>${FACTUR_X}</pdfaSchema:namespaceURI>`,
  "<pdfaSchema:prefix>fx</pdfaSchema:prefix>",
  "<pdfaSchema:property><rdf:Seq>",
  ...Object.entries(PROPERTIES).map(
    ([name, description]) =>
      `<rdf:li rdf:parseType="Resource"><pdfaProperty:name>${name}</pdfaProperty:name><pdfaProperty:valueType>Text</pdfaProperty:valueType>` +
      `<pdfaProperty:category>external</pdfaProperty:category><pdfaProperty:description>${description}</pdfaProperty:description></rdf:li>`,
  ),
  "</rdf:Seq></pdfaSchema:property></rdf:li>",
].join("");

const PREFIXES = [
  `xmlns:rdf="${RDF}"`,
  `xmlns:pdfaExtension="${EXTENSION}"`,
  'xmlns:pdfaSchema="http://www.aiim.org/pdfa/ns/schema#"',
  'xmlns:pdfaProperty="http://www.aiim.org/pdfa/ns/property#"',
].join(" ");

function imported(document: Document, xml: string): Element {
  const [element] = parseXmlDocument(`<root ${PREFIXES}>${xml}</root>`).documentElement?.children ?? [];
  if (element === undefined) throw new Error("The XML to add has no element");
  return document.importNode(element, true);
}
