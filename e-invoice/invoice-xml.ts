/** Checks the XML of an invoice: whether it is safe to read, has the wanted profile, and follows schema and rules. */
import type { Document } from "slimdom";
import { ruleFindings } from "./business-rules.ts";
import { errorAt, type Finding, failed, type Outcome } from "./finding.ts";
import { type EInvoiceFormat, PROFILES, type Profile, type ProfileName } from "./profiles.ts";
import { schemaFindings } from "./schema.ts";
import { readXml } from "./xml-document.ts";

const INVOICE = "urn:un:unece:uncefact:data:standard:CrossIndustryInvoice:100";
const AGGREGATE = "urn:un:unece:uncefact:data:standard:ReusableAggregateBusinessInformationEntity:100";
const GUIDELINE_PLACE =
  "/rsm:CrossIndustryInvoice/rsm:ExchangedDocumentContext/ram:GuidelineSpecifiedDocumentContextParameter/ram:ID";

export interface ReadInvoice {
  readonly xml: string;
  readonly document: Document;
  readonly profile: Profile;
}

/**
 * Reads the XML and finds its profile.
 *
 * @param wanted the profile that it must have; null for any of the format
 */
export function readInvoice(
  content: Uint8Array,
  format: EInvoiceFormat,
  wanted: ProfileName | null,
): Outcome<ReadInvoice> {
  const xml = decoded(content);
  if (xml === null) return failed(errorAt("xml-encoding", "XML", "The XML is not encoded as UTF-8."));
  const read = readXml(xml);
  if (!read.ok) return read;
  const document = read.value;
  const root = document.documentElement;
  if (root === null || root.namespaceURI !== INVOICE || root.localName !== "CrossIndustryInvoice") {
    const name = root?.nodeName ?? "nothing";
    return failed(
      errorAt("profile", "XML", `The XML is ${name}, not a Cross Industry Invoice (rsm:CrossIndustryInvoice).`),
    );
  }
  const [parameter] = root.getElementsByTagNameNS(AGGREGATE, "GuidelineSpecifiedDocumentContextParameter");
  const guideline = parameter?.getElementsByTagNameNS(AGGREGATE, "ID")[0]?.textContent?.trim() ?? "";
  const profile = PROFILES.find((candidate) => candidate.guideline === guideline);
  if (profile === undefined) {
    const message =
      guideline === "" ? "The XML names no guideline." : `The guideline ${guideline} belongs to no profile.`;
    return failed(errorAt("profile", GUIDELINE_PLACE, message));
  }
  if (profile.format !== format || (wanted !== null && profile.name !== wanted)) {
    const other = wanted ?? (format === "xrechnung" ? "XRECHNUNG" : "a profile of Factur-X");
    return failed(
      errorAt("profile", GUIDELINE_PLACE, `The XML has the profile ${profile.name}, but ${other} is wanted.`),
    );
  }
  return { ok: true, value: { xml, document, profile } };
}

/** Checks an invoice against the schema and the rules of its profile. @returns errors and warnings, if any */
export async function invoiceFindings({ xml, document, profile }: ReadInvoice): Promise<Finding[]> {
  const { default: schema } = await profile.schema();
  const invalid = schemaFindings(xml, schema);
  // The rules rely on the schema: on XML that breaks it, they would report mistakes that do not exist.
  if (invalid.length > 0) return invalid;
  return (await profile.rules()).flatMap(({ default: rules }) => ruleFindings(document, rules));
}

function decoded(content: Uint8Array): string | null {
  try {
    const text = new TextDecoder("utf-8", { fatal: true }).decode(content);
    const declared = /^<\?xml[^>]*?\sencoding\s*=\s*["']([^"']*)["']/.exec(text)?.[1];
    return declared === undefined || /^utf-8$/i.test(declared) ? text : null;
  } catch {
    return null;
  }
}
