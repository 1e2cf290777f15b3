/** An invoice as a Cross Industry Invoice: all elements that a profile allows, in the order of its schema. */
import type { ProfileName } from "../../clients/e-invoice/e-invoice.ts";
import type { Adjustment, Invoice, Line, Party, TaxTotal, VatCategory } from "./invoice.ts";

/** Its guideline, and its level: each has the elements of the previous one, and more. */
const PROFILES: Readonly<Record<ProfileName, readonly [guideline: string, level: number]>> = {
  MINIMUM: ["urn:factur-x.eu:1p0:minimum", 0],
  "BASIC WL": ["urn:factur-x.eu:1p0:basicwl", 1],
  BASIC: ["urn:cen.eu:en16931:2017#compliant#urn:factur-x.eu:1p0:basic", 2],
  "EN 16931": ["urn:cen.eu:en16931:2017", 3],
  XRECHNUNG: ["urn:cen.eu:en16931:2017#compliant#urn:xeinkauf.de:kosit:xrechnung_3.0", 3],
  EXTENDED: ["urn:cen.eu:en16931:2017#conformant#urn:factur-x.eu:1p0:extended", 4],
};
const NAMESPACE = "urn:un:unece:uncefact:data:standard:";

export function invoiceXml(invoice: Invoice): string {
  const [guideline, level] = PROFILES[invoice.profile];
  return [
    '<?xml version="1.0" encoding="UTF-8"?>\n',
    `<rsm:CrossIndustryInvoice xmlns:rsm="${NAMESPACE}CrossIndustryInvoice:100"`,
    ` xmlns:ram="${NAMESPACE}ReusableAggregateBusinessInformationEntity:100"`,
    ` xmlns:udt="${NAMESPACE}UnqualifiedDataType:100" xmlns:qdt="${NAMESPACE}QualifiedDataType:100">`,
    tag(
      "rsm:ExchangedDocumentContext",
      tag(
        "ram:BusinessProcessSpecifiedDocumentContextParameter",
        tag("ram:ID", "urn:fdc:peppol.eu:2017:poacc:billing:01:1.0"),
      ),
      tag("ram:GuidelineSpecifiedDocumentContextParameter", tag("ram:ID", guideline)),
    ),
    tag(
      "rsm:ExchangedDocument",
      leaf("ram:ID", invoice.number),
      tag("ram:TypeCode", invoice.typeCode),
      tag("ram:IssueDateTime", date(invoice.issued)),
      ...(level > 0 ? invoice.notes.map((note) => tag("ram:IncludedNote", leaf("ram:Content", note))) : []),
    ),
    tag(
      "rsm:SupplyChainTradeTransaction",
      ...(level > 1 ? invoice.lines.map((line) => lineItem(line, level)) : []),
      agreement(invoice, level),
      delivery(invoice, level),
      settlement(invoice, level),
    ),
    "</rsm:CrossIndustryInvoice>\n",
  ].join("");
}

function lineItem(line: Line, level: number): string {
  const gross = line.netPrice + line.discount;
  const perQuantity =
    line.priceQuantity === 1n ? "" : tag(`ram:BasisQuantity unitCode="${line.unit}"`, String(line.priceQuantity));
  return tag(
    "ram:IncludedSupplyChainTradeLineItem",
    tag(
      "ram:AssociatedDocumentLineDocument",
      tag("ram:LineID", line.id),
      line.note === null ? "" : tag("ram:IncludedNote", leaf("ram:Content", line.note)),
    ),
    tag(
      "ram:SpecifiedTradeProduct",
      level > 2 ? leaf("ram:SellerAssignedID", line.sellerId) : "",
      leaf("ram:Name", line.name),
      level > 2 ? leaf("ram:Description", line.description) : "",
    ),
    tag(
      "ram:SpecifiedLineTradeAgreement",
      line.discount === 0n
        ? ""
        : tag(
            "ram:GrossPriceProductTradePrice",
            tag("ram:ChargeAmount", decimal(gross, 4)),
            perQuantity,
            tag(
              "ram:AppliedTradeAllowanceCharge",
              indicator(false),
              tag("ram:ActualAmount", decimal(line.discount, 4)),
            ),
          ),
      tag("ram:NetPriceProductTradePrice", tag("ram:ChargeAmount", decimal(line.netPrice, 4)), perQuantity),
    ),
    tag("ram:SpecifiedLineTradeDelivery", tag(`ram:BilledQuantity unitCode="${line.unit}"`, decimal(line.quantity, 4))),
    tag(
      "ram:SpecifiedLineTradeSettlement",
      tag("ram:ApplicableTradeTax", category(line.vat, level)),
      ...line.adjustments.map((adjustment) => allowanceOrCharge(adjustment, null)),
      tag("ram:SpecifiedTradeSettlementLineMonetarySummation", tag("ram:LineTotalAmount", decimal(line.net, 2))),
    ),
  );
}

function agreement(invoice: Invoice, level: number): string {
  return tag(
    "ram:ApplicableHeaderTradeAgreement",
    leaf("ram:BuyerReference", invoice.buyerReference),
    party("ram:SellerTradeParty", invoice.seller, level, true),
    party("ram:BuyerTradeParty", invoice.buyer, level, false),
    reference("ram:BuyerOrderReferencedDocument", invoice.order),
    level > 0 ? reference("ram:ContractReferencedDocument", invoice.contract) : "",
    level > 2 && invoice.annex !== null
      ? tag(
          "ram:AdditionalReferencedDocument",
          leaf("ram:IssuerAssignedID", "Anlage 1"),
          tag("ram:TypeCode", "916"),
          leaf("ram:Name", "Stundenzettel"),
          tag(
            `ram:AttachmentBinaryObject mimeCode="text/csv" filename="${invoice.annex.name}"`,
            Buffer.from(invoice.annex.content).toString("base64"),
          ),
        )
      : "",
  );
}

function delivery(invoice: Invoice, level: number): string {
  return tag(
    "ram:ApplicableHeaderTradeDelivery",
    level > 0 && invoice.shipTo !== null
      ? party("ram:ShipToTradeParty", { ...invoice.shipTo, legalId: null }, Math.min(level, 1), false, false)
      : "",
    level > 0 ? tag("ram:ActualDeliverySupplyChainEvent", tag("ram:OccurrenceDateTime", date(invoice.delivered))) : "",
  );
}

/** Only EXTENDED has separate members for them. */
const DISCOUNT_TERMS = tag(
  "ram:ApplicableTradePaymentDiscountTerms",
  tag('ram:BasisPeriodMeasure unitCode="DAY"', "14"),
  tag("ram:CalculationPercent", "2.00"),
);

function settlement(invoice: Invoice, level: number): string {
  const { directDebit, taxCurrency } = invoice;
  const summation = tag(
    "ram:SpecifiedTradeSettlementHeaderMonetarySummation",
    level > 0 ? tag("ram:LineTotalAmount", decimal(invoice.lineTotal, 2)) : "",
    level > 0 && invoice.chargeTotal !== 0n ? tag("ram:ChargeTotalAmount", decimal(invoice.chargeTotal, 2)) : "",
    level > 0 && invoice.allowanceTotal !== 0n
      ? tag("ram:AllowanceTotalAmount", decimal(invoice.allowanceTotal, 2))
      : "",
    tag("ram:TaxBasisTotalAmount", decimal(invoice.net, 2)),
    tag(`ram:TaxTotalAmount currencyID="${invoice.currency}"`, decimal(invoice.tax, 2)),
    taxCurrency === null ? "" : tag(`ram:TaxTotalAmount currencyID="${taxCurrency.code}"`, decimal(taxCurrency.tax, 2)),
    tag("ram:GrandTotalAmount", decimal(invoice.gross, 2)),
    level > 0 && invoice.prepaid !== 0n ? tag("ram:TotalPrepaidAmount", decimal(invoice.prepaid, 2)) : "",
    tag("ram:DuePayableAmount", decimal(invoice.dueAmount, 2)),
  );
  if (level === 0) {
    return tag("ram:ApplicableHeaderTradeSettlement", tag("ram:InvoiceCurrencyCode", invoice.currency), summation);
  }
  return tag(
    "ram:ApplicableHeaderTradeSettlement",
    leaf("ram:CreditorReferenceID", directDebit?.creditor),
    leaf("ram:PaymentReference", invoice.number),
    leaf("ram:TaxCurrencyCode", taxCurrency?.code),
    tag("ram:InvoiceCurrencyCode", invoice.currency),
    tag(
      "ram:SpecifiedTradeSettlementPaymentMeans",
      tag("ram:TypeCode", directDebit === null ? "58" : "59"),
      directDebit === null
        ? tag("ram:PayeePartyCreditorFinancialAccount", tag("ram:IBANID", invoice.iban))
        : tag("ram:PayerPartyDebtorFinancialAccount", tag("ram:IBANID", directDebit.iban)),
    ),
    ...invoice.taxes.map((total) => taxTotal(total, invoice.profile)),
    ...invoice.adjustments.map((adjustment) => allowanceOrCharge(adjustment, level)),
    tag(
      "ram:SpecifiedTradePaymentTerms",
      leaf("ram:Description", invoice.terms),
      tag("ram:DueDateDateTime", date(invoice.due)),
      leaf("ram:DirectDebitMandateID", directDebit?.mandate),
      level > 3 ? DISCOUNT_TERMS : "",
    ),
    summation,
    reference("ram:InvoiceReferencedDocument", invoice.preceding),
  );
}

function taxTotal({ vat, base, tax }: TaxTotal, profile: ProfileName): string {
  return tag(
    "ram:ApplicableTradeTax",
    tag("ram:CalculatedAmount", decimal(tax, 2)),
    tag("ram:TypeCode", "VAT"),
    leaf("ram:ExemptionReason", vat.reason),
    tag("ram:BasisAmount", decimal(base, 2)),
    tag("ram:CategoryCode", vat.code),
    leaf("ram:ExemptionReasonCode", vat.reasonCode),
    // XRechnung requires a rate in each total, even for categories that have none (BR-DE-14).
    profile === "XRECHNUNG" ? tag("ram:RateApplicablePercent", decimal(vat.rate, 2)) : rate(vat),
  );
}

/** EXTENDED requires the reason for an exemption in each line, too. */
function category(vat: VatCategory, level: number): string {
  const isExplained = level > 3;
  return [
    tag("ram:TypeCode", "VAT"),
    isExplained ? leaf("ram:ExemptionReason", vat.reason) : "",
    tag("ram:CategoryCode", vat.code),
    isExplained ? leaf("ram:ExemptionReasonCode", vat.reasonCode) : "",
    rate(vat),
  ].join("");
}

/** @param level of the whole document; null for a line, which has its VAT in a different place */
function allowanceOrCharge({ isCharge, amount, base, percent, reason, vat }: Adjustment, level: number | null): string {
  return tag(
    "ram:SpecifiedTradeAllowanceCharge",
    indicator(isCharge),
    percent === null ? "" : tag("ram:CalculationPercent", decimal(percent, 2)),
    base === null ? "" : tag("ram:BasisAmount", decimal(base, 2)),
    tag("ram:ActualAmount", decimal(amount, 2)),
    leaf("ram:Reason", reason),
    level === null ? "" : tag("ram:CategoryTradeTax", category(vat, level)),
  );
}

/** Items that are not subject to VAT have no rate. */
function rate(vat: VatCategory): string {
  return vat.code === "O" ? "" : tag("ram:RateApplicablePercent", decimal(vat.rate, 2));
}

function party(name: string, who: Party, level: number, isSeller: boolean, hasAddress = true): string {
  const [one, two, three] = who.lines;
  const legal = who.legalId === null ? "" : tag("ram:SpecifiedLegalOrganization", leaf("ram:ID", who.legalId));
  const registration = (id: string | null, scheme: string) =>
    id === null ? "" : tag("ram:SpecifiedTaxRegistration", tag(`ram:ID schemeID="${scheme}"`, id));
  const registrations = registration(who.taxNumber, "FC") + registration(who.vatId, "VA");
  if (level === 0) {
    const address = isSeller ? tag("ram:PostalTradeAddress", tag("ram:CountryID", who.country)) : "";
    return tag(name, leaf("ram:Name", who.name), legal, address, isSeller ? registrations : "");
  }
  return tag(
    name,
    leaf("ram:Name", who.name),
    legal,
    level > 2 && who.contact !== null
      ? tag(
          "ram:DefinedTradeContact",
          leaf("ram:PersonName", who.contact.name),
          tag("ram:TelephoneUniversalCommunication", tag("ram:CompleteNumber", who.contact.phone)),
          tag("ram:EmailURIUniversalCommunication", tag("ram:URIID", who.email)),
        )
      : "",
    tag(
      "ram:PostalTradeAddress",
      leaf("ram:PostcodeCode", who.postcode),
      leaf("ram:LineOne", one),
      leaf("ram:LineTwo", two),
      leaf("ram:LineThree", three),
      leaf("ram:CityName", who.city),
      tag("ram:CountryID", who.country),
    ),
    hasAddress ? tag("ram:URIUniversalCommunication", tag('ram:URIID schemeID="EM"', who.email)) : "",
    registrations,
  );
}

function reference(name: string, id: string | null): string {
  return id === null ? "" : tag(name, leaf("ram:IssuerAssignedID", id));
}

function indicator(value: boolean): string {
  return tag("ram:ChargeIndicator", tag("udt:Indicator", String(value)));
}

function date(day: string): string {
  return tag('udt:DateTimeString format="102"', day);
}

/** @param start the name, and its attributes */
function tag(start: string, ...content: readonly string[]): string {
  return `<${start}>${content.join("")}</${start.split(" ")[0]}>`;
}

/** Nothing if there is no text. */
function leaf(name: string, text: string | null | undefined): string {
  if (text == null) return "";
  return tag(name, text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;"));
}

function decimal(value: bigint, digits: number): string {
  const text = String(value < 0n ? -value : value).padStart(digits + 1, "0");
  return `${value < 0n ? "-" : ""}${text.slice(0, -digits)}.${text.slice(-digits)}`;
}
