/** An invoice as a Cross Industry Invoice of each profile: what the profile requires, in the order of its schema. */
import type { ProfileName } from "../../../clients/e-invoice/e-invoice.ts";

/** Its guideline, and its level: each has the elements of the previous one, and more. */
const PROFILES: Readonly<Record<ProfileName, readonly [guideline: string, level: number]>> = {
  MINIMUM: ["urn:factur-x.eu:1p0:minimum", 0],
  "BASIC WL": ["urn:factur-x.eu:1p0:basicwl", 1],
  BASIC: ["urn:cen.eu:en16931:2017#compliant#urn:factur-x.eu:1p0:basic", 2],
  "EN 16931": ["urn:cen.eu:en16931:2017", 3],
  XRECHNUNG: ["urn:cen.eu:en16931:2017#compliant#urn:xeinkauf.de:kosit:xrechnung_3.0", 3],
  EXTENDED: ["urn:cen.eu:en16931:2017#conformant#urn:factur-x.eu:1p0:extended", 4],
};
export const PROFILE_NAMES = Object.keys(PROFILES).filter((name): name is ProfileName => Object.hasOwn(PROFILES, name));

const NAMESPACE = "urn:un:unece:uncefact:data:standard";
const NET = "100.00";
const TAX = "19.00";
export const GROSS = "119.00";
const LINES = [
  { name: "Wartung &lt;24/7&gt; &amp; Câble ½″", price: "10.00", quantity: "2", net: "20.00" },
  { name: "Beratung je Stunde", price: "20.00", quantity: "4", net: "80.00" },
];
const VAT = "<ram:TypeCode>VAT</ram:TypeCode>";
const RATE = "<ram:CategoryCode>S</ram:CategoryCode><ram:RateApplicablePercent>19.00</ram:RateApplicablePercent>";
const date = (day: string) => `<udt:DateTimeString format="102">${day}</udt:DateTimeString>`;
const DELIVERED = `<ram:ActualDeliverySupplyChainEvent>
<ram:OccurrenceDateTime>${date("20260905")}</ram:OccurrenceDateTime></ram:ActualDeliverySupplyChainEvent>`;
const PAYMENT = `<ram:SpecifiedTradeSettlementPaymentMeans><ram:TypeCode>58</ram:TypeCode><ram:PayeePartyCreditorFinancialAccount>
<ram:IBANID>DE75512108001245126199</ram:IBANID></ram:PayeePartyCreditorFinancialAccount>
</ram:SpecifiedTradeSettlementPaymentMeans>
<ram:ApplicableTradeTax><ram:CalculatedAmount>${TAX}</ram:CalculatedAmount>${VAT}
<ram:BasisAmount>${NET}</ram:BasisAmount>${RATE}</ram:ApplicableTradeTax>
<ram:SpecifiedTradePaymentTerms><ram:DueDateDateTime>${date("20261105")}</ram:DueDateDateTime>
</ram:SpecifiedTradePaymentTerms>`;
const CONTACT = `<ram:DefinedTradeContact><ram:PersonName>Zoë Groß-Müller</ram:PersonName>
<ram:TelephoneUniversalCommunication><ram:CompleteNumber>+49 30 1</ram:CompleteNumber></ram:TelephoneUniversalCommunication>
<ram:EmailURIUniversalCommunication><ram:URIID>rechnung@example.com</ram:URIID></ram:EmailURIUniversalCommunication>
</ram:DefinedTradeContact>`;
const COUNTRY = "<ram:PostalTradeAddress><ram:CountryID>DE</ram:CountryID></ram:PostalTradeAddress>";
const ADDRESS = `<ram:PostalTradeAddress><ram:PostcodeCode>99998</ram:PostcodeCode><ram:LineOne>Am Wehr 3 b</ram:LineOne>
<ram:CityName>Auental</ram:CityName><ram:CountryID>DE</ram:CountryID></ram:PostalTradeAddress>`;
const ADDRESS_IN_THE_NETWORK = `<ram:URIUniversalCommunication>
<ram:URIID schemeID="EM">rechnung@example.com</ram:URIID></ram:URIUniversalCommunication>`;
const VAT_ID = `<ram:SpecifiedTaxRegistration><ram:ID schemeID="VA">DE999999990</ram:ID></ram:SpecifiedTaxRegistration>`;

export function invoiceXml(profile: ProfileName): string {
  const [guideline, level] = PROFILES[profile];
  /** What only this level and higher ones have. */
  const from = (least: number, text: string) => (level >= least ? text : "");
  const party = (element: string, name: string, country: string, registration: string) => `<ram:${element}>
<ram:Name>${name}</ram:Name>
${from(3, CONTACT)}
${level > 0 ? ADDRESS : country}
${from(1, ADDRESS_IN_THE_NETWORK)}
${registration}</ram:${element}>`;
  const lines = LINES.map(
    ({ name, price, quantity, net }, index) => `<ram:IncludedSupplyChainTradeLineItem>
<ram:AssociatedDocumentLineDocument><ram:LineID>${index + 1}</ram:LineID></ram:AssociatedDocumentLineDocument>
<ram:SpecifiedTradeProduct><ram:Name>${name}</ram:Name></ram:SpecifiedTradeProduct>
<ram:SpecifiedLineTradeAgreement><ram:NetPriceProductTradePrice><ram:ChargeAmount>${price}</ram:ChargeAmount>
</ram:NetPriceProductTradePrice></ram:SpecifiedLineTradeAgreement>
<ram:SpecifiedLineTradeDelivery>
<ram:BilledQuantity unitCode="HUR">${quantity}</ram:BilledQuantity></ram:SpecifiedLineTradeDelivery>
<ram:SpecifiedLineTradeSettlement><ram:ApplicableTradeTax>${VAT}${RATE}</ram:ApplicableTradeTax>
<ram:SpecifiedTradeSettlementLineMonetarySummation><ram:LineTotalAmount>${net}</ram:LineTotalAmount>
</ram:SpecifiedTradeSettlementLineMonetarySummation></ram:SpecifiedLineTradeSettlement></ram:IncludedSupplyChainTradeLineItem>`,
  );
  return `<?xml version="1.0" encoding="UTF-8"?>
<rsm:CrossIndustryInvoice xmlns:rsm="${NAMESPACE}:CrossIndustryInvoice:100" xmlns:udt="${NAMESPACE}:UnqualifiedDataType:100"
  xmlns:ram="${NAMESPACE}:ReusableAggregateBusinessInformationEntity:100">
<rsm:ExchangedDocumentContext>
<ram:BusinessProcessSpecifiedDocumentContextParameter>
<ram:ID>urn:fdc:peppol.eu:2017:poacc:billing:01:1.0</ram:ID></ram:BusinessProcessSpecifiedDocumentContextParameter>
<ram:GuidelineSpecifiedDocumentContextParameter>
<ram:ID>${guideline}</ram:ID></ram:GuidelineSpecifiedDocumentContextParameter></rsm:ExchangedDocumentContext>
<rsm:ExchangedDocument><ram:ID>R-2026/1-Ä</ram:ID><ram:TypeCode>380</ram:TypeCode>
<ram:IssueDateTime>${date("20261005")}</ram:IssueDateTime></rsm:ExchangedDocument>
<rsm:SupplyChainTradeTransaction>${from(2, lines.join(""))}
<ram:ApplicableHeaderTradeAgreement><ram:BuyerReference>04011000-12345-10</ram:BuyerReference>
${party("SellerTradeParty", "Straßenbau Öztürk &amp; Söhne GmbH", COUNTRY, VAT_ID)}
${party("BuyerTradeParty", "Œuvres de l'Île — Café «Noël»", "", "")}</ram:ApplicableHeaderTradeAgreement>
<ram:ApplicableHeaderTradeDelivery>${from(1, DELIVERED)}</ram:ApplicableHeaderTradeDelivery>
<ram:ApplicableHeaderTradeSettlement><ram:InvoiceCurrencyCode>EUR</ram:InvoiceCurrencyCode>
${from(1, PAYMENT)}
<ram:SpecifiedTradeSettlementHeaderMonetarySummation>${from(1, `<ram:LineTotalAmount>${NET}</ram:LineTotalAmount>`)}
<ram:TaxBasisTotalAmount>${NET}</ram:TaxBasisTotalAmount><ram:TaxTotalAmount currencyID="EUR">${TAX}</ram:TaxTotalAmount>
<ram:GrandTotalAmount>${GROSS}</ram:GrandTotalAmount><ram:DuePayableAmount>${GROSS}</ram:DuePayableAmount>
</ram:SpecifiedTradeSettlementHeaderMonetarySummation></ram:ApplicableHeaderTradeSettlement>
</rsm:SupplyChainTradeTransaction>
</rsm:CrossIndustryInvoice>
`;
}
