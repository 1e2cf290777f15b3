/** The XMP metadata of a PDF: reads what it claims, and adds what makes it an e-invoice (Factur-X 1.09, 6.2). */
import { PdfSyntaxError } from "./pdf-syntax.ts";
import type { Profile } from "./profiles.ts";
import { decodeUtf8, findDescendant, readXml, type XmlElement } from "./xml-document.ts";

const RDF = "http://www.w3.org/1999/02/22-rdf-syntax-ns#";
const PDFA_ID = "http://www.aiim.org/pdfa/ns/id/";
const EXTENSION = "http://www.aiim.org/pdfa/ns/extension/";
const MEDIA_MANAGEMENT = "http://ns.adobe.com/xap/1.0/mm/";
const FACTUR_X = "urn:factur-x:pdfa:CrossIndustryDocument:invoice:1p0#";

/**
 * The description that PDF/A requires of each property outside its own schemas: the name, and what the property means.
 */
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

export function readMetadata(packet: Uint8Array): Metadata | null {
  const xml = decodeUtf8(packet);
  const read = xml === null ? null : readXml(xml);
  if (xml === null || read === null || !read.ok) return null;
  const root = read.value;
  const rdf = isRdf(root, "RDF") ? root : findDescendant(root, RDF, "RDF");
  if (rdf === undefined) return null;
  const part = findProperty(rdf, PDFA_ID, "part");
  return {
    pdfA: part === null ? null : part + (findProperty(rdf, PDFA_ID, "conformance") ?? ""),
    isFinished: findProperty(rdf, FACTUR_X, "DocumentType") !== null,
    finished: (profile, attachment, instanceId) => {
      const edits = planEdits(rdf, profile, attachment);
      const instance = findDescendant(rdf, MEDIA_MANAGEMENT, "InstanceID");
      // With elements in it, it is no identifier, and may contain what the other edits change.
      if (instance?.content && instance.children.length === 0) edits.push({ ...instance.content, text: instanceId });
      return new TextEncoder().encode(applyEdits(xml, edits));
    },
  };
}

const isRdf = (element: XmlElement, name: string) => element.namespace === RDF && element.name === name;

/** A simple property, as an element or an attribute of a description. */
function findProperty(rdf: XmlElement, namespace: string, name: string): string | null {
  const element = findDescendant(rdf, namespace, name);
  if (element !== undefined) return element.text.trim();
  const attributes = rdf.children.filter((child) => isRdf(child, "Description")).flatMap((child) => child.attributes);
  return attributes.find((one) => one.namespace === namespace && one.name === name)?.value ?? null;
}

/** What to write in place of the characters from `start` to `end`. */
interface Edit {
  readonly start: number;
  readonly end: number;
  readonly text: string;
}

function planEdits(rdf: XmlElement, { name, version }: Profile, attachment: string): Edit[] {
  const values = { DocumentType: "INVOICE", DocumentFileName: attachment, Version: version, ConformanceLevel: name };
  const members = Object.entries(values).map(([member, value]) => `<fx:${member}>${value}</fx:${member}>`);
  const invoice = `<rdf:Description rdf:about="" xmlns:rdf="${RDF}" xmlns:fx="${FACTUR_X}">${members.join("")}</rdf:Description>`;
  // A property may occur only once, so the schema is added to those that the file already describes.
  const schemas = findDescendant(rdf, EXTENSION, "schemas");
  const bag = schemas?.children.find((child) => isRdf(child, "Bag"));
  if (bag !== undefined) return [appendTo(bag, SCHEMA), appendTo(rdf, invoice)];
  const description = `<rdf:Description rdf:about="" ${PREFIXES}><pdfaExtension:schemas><rdf:Bag>${SCHEMA}</rdf:Bag></pdfaExtension:schemas></rdf:Description>`;
  return [appendTo(rdf, invoice + description)];
}

function appendTo({ content }: XmlElement, text: string): Edit {
  if (content === null) throw new PdfSyntaxError("The metadata has an empty list of schemas.");
  return { start: content.end, end: content.end, text };
}

/** @param edits that do not overlap */
function applyEdits(xml: string, edits: readonly Edit[]): string {
  // From the last place to the first, so that the places of the others stay right.
  const fromTheEnd = edits.toSorted((one, other) => other.start - one.start);
  return fromTheEnd.reduce((result, { start, end, text }) => result.slice(0, start) + text + result.slice(end), xml);
}

const PREFIXES = [
  `xmlns:rdf="${RDF}"`,
  `xmlns:pdfaExtension="${EXTENSION}"`,
  'xmlns:pdfaSchema="http://www.aiim.org/pdfa/ns/schema#"',
  'xmlns:pdfaProperty="http://www.aiim.org/pdfa/ns/property#"',
].join(" ");

const SCHEMA = [
  `<rdf:li ${PREFIXES} rdf:parseType="Resource">`,
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
