/** Reads XML that may be hostile: without declared entities, and not deeper or longer than libxml2 and our limits allow. */
import { type Document, parseXmlDocument } from "slimdom";
import { errorAt, failed, type Outcome } from "./finding.ts";
import { syntaxFindings } from "./schema.ts";

export function readXml(xml: string): Outcome<Document> {
  // Without a declaration there are no entities either, neither external ones nor ones that expand.
  if (xml.includes("<!DOCTYPE")) {
    return failed(errorAt("xml-doctype", "XML", "The XML has a document type declaration, which no invoice needs."));
  }
  // This comes before slimdom, which does not limit the depth.
  const broken = syntaxFindings(xml);
  if (broken.length > 0) return failed(...broken);
  try {
    return { ok: true, value: parseXmlDocument(xml) };
  } catch (error) {
    // slimdom rejects undeclared prefixes, of which libxml2 only warns.
    return failed(errorAt("xml-syntax", "XML", error instanceof Error ? error.message : "The XML cannot be read."));
  }
}
