/** The profiles of Factur-X, ZUGFeRD and XRechnung, and what each requires of the XML and of the PDF. */
import type { RuleSet } from "./rule-set.ts";
import type { SchemaFiles } from "./schema.ts";

/** The formats that a file can be finished as. */
export type EInvoiceFormat = "factur-x" | "xrechnung";

/** A profile, as named in the metadata of a PDF. */
export type ProfileName = "MINIMUM" | "BASIC WL" | "BASIC" | "EN 16931" | "EXTENDED" | "XRECHNUNG";

export interface Profile {
  readonly name: ProfileName;
  readonly format: EInvoiceFormat;
  /** The guideline that the XML names. */
  readonly guideline: string;
  /** The relationships of the attachment that receivers accept. */
  readonly relationships: readonly string[];
  /** The value of `fx:Version`: the version of Factur-X's XML, or of XRechnung. */
  readonly version: string;
  readonly schema: () => Promise<{ readonly default: SchemaFiles }>;
  readonly rules: () => Promise<readonly { readonly default: RuleSet }[]>;
}

/** The required name of the attachment. */
export const ATTACHMENT_NAMES: Readonly<Record<EInvoiceFormat, string>> = {
  "factur-x": "factur-x.xml",
  xrechnung: "xrechnung.xml",
};

/** XML without invoice lines is not an invoice by itself, so it is only data of the PDF. */
const ONLY_DATA = ["Data"];
/** Germany requires Alternative. France also accepts the others. */
const ALTERNATIVE = ["Alternative", "Source", "Data"];

/** The published rules of MINIMUM compare no amounts. This is BR-CO-15 of EN 16931, whose three amounts MINIMUM has too. */
const TOTAL_OF_MINIMUM: RuleSet = {
  namespaces: { ram: "urn:un:unece:uncefact:data:standard:ReusableAggregateBusinessInformationEntity:100" },
  variables: [],
  patterns: [
    [
      {
        context: "//ram:SpecifiedTradeSettlementHeaderMonetarySummation",
        tests: [
          {
            id: "BR-CO-15",
            test: "xs:decimal(ram:GrandTotalAmount) = e:n(xs:decimal(ram:TaxBasisTotalAmount) + e:sum(ram:TaxTotalAmount[not(@currencyID) or @currencyID = ../../ram:InvoiceCurrencyCode]/xs:decimal(.)))",
            message:
              "Invoice total amount with VAT (BT-112) = Invoice total amount without VAT (BT-109) + Invoice total VAT amount (BT-110).",
          },
        ],
      },
    ],
  ],
};

export const PROFILES: readonly Profile[] = [
  {
    name: "MINIMUM",
    format: "factur-x",
    guideline: "urn:factur-x.eu:1p0:minimum",
    relationships: ONLY_DATA,
    version: "1.0",
    schema: () => import("./rules/minimum.schema.json", { with: { type: "json" } }),
    rules: () =>
      Promise.all([import("./rules/minimum.json", { with: { type: "json" } }), { default: TOTAL_OF_MINIMUM }]),
  },
  {
    name: "BASIC WL",
    format: "factur-x",
    guideline: "urn:factur-x.eu:1p0:basicwl",
    relationships: ONLY_DATA,
    version: "1.0",
    schema: () => import("./rules/basic-wl.schema.json", { with: { type: "json" } }),
    rules: () => Promise.all([import("./rules/basic-wl.json", { with: { type: "json" } })]),
  },
  {
    name: "BASIC",
    format: "factur-x",
    guideline: "urn:cen.eu:en16931:2017#compliant#urn:factur-x.eu:1p0:basic",
    relationships: ALTERNATIVE,
    version: "1.0",
    schema: () => import("./rules/basic.schema.json", { with: { type: "json" } }),
    rules: () => Promise.all([import("./rules/basic.json", { with: { type: "json" } })]),
  },
  {
    name: "EN 16931",
    format: "factur-x",
    guideline: "urn:cen.eu:en16931:2017",
    relationships: ALTERNATIVE,
    version: "1.0",
    schema: () => import("./rules/en16931.schema.json", { with: { type: "json" } }),
    rules: () => Promise.all([import("./rules/en16931.json", { with: { type: "json" } })]),
  },
  {
    name: "EXTENDED",
    format: "factur-x",
    guideline: "urn:cen.eu:en16931:2017#conformant#urn:factur-x.eu:1p0:extended",
    relationships: ALTERNATIVE,
    version: "1.0",
    schema: () => import("./rules/extended.schema.json", { with: { type: "json" } }),
    rules: () => Promise.all([import("./rules/extended.json", { with: { type: "json" } })]),
  },
  {
    name: "XRECHNUNG",
    format: "xrechnung",
    guideline: "urn:cen.eu:en16931:2017#compliant#urn:xeinkauf.de:kosit:xrechnung_3.0",
    relationships: ALTERNATIVE,
    version: "3.0",
    // XRechnung has no schema of its own.
    schema: () => import("./rules/en16931.schema.json", { with: { type: "json" } }),
    rules: () =>
      Promise.all([
        import("./rules/cen-en16931.json", { with: { type: "json" } }),
        import("./rules/xrechnung.json", { with: { type: "json" } }),
      ]),
  },
];
