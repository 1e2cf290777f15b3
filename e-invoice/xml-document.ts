/** Reads XML that may be made to harm: no declared entities, and no deeper or longer than the limits of libxml2. */
import { type Document, parseXmlDocument } from "slimdom";
import { errorAt, failed, type Outcome } from "./finding.ts";
import { syntaxFindings } from "./schema.ts";

export function readXml(xml: string): Outcome<Document> {
  // Without one there are no entities either, neither external ones nor such that grow.
  if (xml.includes("<!DOCTYPE")) {
    return failed(errorAt("xml-doctype", "XML", "The XML has a document type declaration, which no invoice needs."));
  }
  // Before slimdom, which has no limit of depth.
  const broken = syntaxFindings(xml);
  if (broken.length > 0) return failed(...broken);
  try {
    return { ok: true, value: parseXmlDocument(xml) };
  } catch (error) {
    // It knows namespaces by heart where libxml2 only warns.
    return failed(errorAt("xml-syntax", "XML", error instanceof Error ? error.message : "The XML cannot be read."));
  }
}
