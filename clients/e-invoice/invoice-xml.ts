/**
 * Reads the XML of an invoice: whether it is safe to read, and which profile it has. The standard's rules are not
 * checked here.
 */
import { type Outcome, refuseWith } from "./finding.ts";
import { type EInvoiceFormat, PROFILES, type Profile, type ProfileName } from "./profiles.ts";
import { decodeUtf8, findDescendant, readXml } from "./xml-document.ts";

const INVOICE = "urn:un:unece:uncefact:data:standard:CrossIndustryInvoice:100";
const AGGREGATE = "urn:un:unece:uncefact:data:standard:ReusableAggregateBusinessInformationEntity:100";
/** France's profile for its reform. It is a subset of EXTENDED, and Factur-X knows only that. */
const FRENCH_EXTENDED = /extended-ctc-fr/i;
const GUIDELINE_PLACE =
  "/rsm:CrossIndustryInvoice/rsm:ExchangedDocumentContext/ram:GuidelineSpecifiedDocumentContextParameter/ram:ID";

export interface ReadInvoice {
  readonly profile: Profile;
  /** Of the seller's address (BT-40), such as `DE`; null if there is none. */
  readonly sellerCountry: string | null;
}

/**
 * Finds the profile of the XML.
 *
 * @param wanted the profile that it must have; null for any of the format
 */
export function readInvoice(
  content: Uint8Array,
  format: EInvoiceFormat,
  wanted: ProfileName | null,
): Outcome<ReadInvoice> {
  const xml = decodeUtf8(content);
  if (xml === null || !declaresUtf8(xml)) return refuseWith("xml-encoding", "XML", "The XML is not encoded as UTF-8.");
  const read = readXml(xml);
  if (!read.ok) return read;
  const root = read.value;
  if (root.namespace !== INVOICE || root.name !== "CrossIndustryInvoice") {
    const message = `The XML is ${root.qualifiedName}, not a Cross Industry Invoice (rsm:CrossIndustryInvoice).`;
    return refuseWith("profile", "XML", message);
  }
  const parameter = findDescendant(root, AGGREGATE, "GuidelineSpecifiedDocumentContextParameter");
  const guideline = parameter === undefined ? "" : (findDescendant(parameter, AGGREGATE, "ID")?.text.trim() ?? "");
  const profile = PROFILES.find((candidate) => candidate.guideline === guideline);
  if (profile === undefined) {
    return refuseWith("profile", GUIDELINE_PLACE, describeUnknown(guideline));
  }
  if (profile.format !== format || (wanted !== null && profile.name !== wanted)) {
    const other = wanted ?? (format === "xrechnung" ? "XRECHNUNG" : "a profile of Factur-X");
    return refuseWith("profile", GUIDELINE_PLACE, `The XML has the profile ${profile.name}, but ${other} is wanted.`);
  }
  const seller = findDescendant(root, AGGREGATE, "SellerTradeParty");
  const address = seller && findDescendant(seller, AGGREGATE, "PostalTradeAddress");
  const country = address && findDescendant(address, AGGREGATE, "CountryID")?.text.trim();
  return { ok: true, value: { profile, sellerCountry: country ?? null } };
}

function describeUnknown(guideline: string): string {
  if (guideline === "") return "The XML names no guideline.";
  if (!FRENCH_EXTENDED.test(guideline)) return `The guideline ${guideline} belongs to no profile.`;
  const extended = PROFILES.find(({ name }) => name === "EXTENDED")?.guideline;
  return `The guideline ${guideline} is for XML that is sent alone. In Factur-X, EXTENDED-CTC-FR is a part of EXTENDED: write ${extended}.`;
}

function declaresUtf8(xml: string): boolean {
  const declared = /^<\?xml[^>]*?\sencoding\s*=\s*["']([^"']*)["']/.exec(xml)?.[1];
  return declared === undefined || /^utf-8$/i.test(declared);
}
