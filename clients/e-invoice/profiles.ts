/** The profiles of Factur-X, ZUGFeRD and XRechnung, and what each requires of the PDF. */

/** The formats that a file can be finished as. */
export type EInvoiceFormat = "factur-x" | "xrechnung";

/** A profile, as named in the metadata of a PDF. */
export type ProfileName = "MINIMUM" | "BASIC WL" | "BASIC" | "EN 16931" | "EXTENDED" | "XRECHNUNG";

export interface Profile {
  readonly name: ProfileName;
  readonly format: EInvoiceFormat;
  readonly guideline: string;
  /** The relationships of the attachment that receivers accept. */
  readonly relationships: readonly string[];
  /** The value of `fx:Version`: the version of Factur-X's XML, or of XRechnung. */
  readonly version: string;
}

/** The required name of the attachment. */
export const ATTACHMENT_NAMES: Readonly<Record<EInvoiceFormat, string>> = {
  "factur-x": "factur-x.xml",
  xrechnung: "xrechnung.xml",
};

/** XML without invoice lines is not an invoice by itself, so it is only data of the PDF. */
const ONLY_DATA = ["Data"];
/** Germany requires Alternative: see `noteOnRelationship`. France also accepts the others. */
const ALTERNATIVE = ["Alternative", "Source", "Data"];

const defineFacturX = (name: ProfileName, guideline: string, relationships: readonly string[]): Profile => {
  return { name, format: "factur-x", guideline, relationships, version: "1.0" };
};

export const PROFILES: readonly Profile[] = [
  defineFacturX("MINIMUM", "urn:factur-x.eu:1p0:minimum", ONLY_DATA),
  defineFacturX("BASIC WL", "urn:factur-x.eu:1p0:basicwl", ONLY_DATA),
  defineFacturX("BASIC", "urn:cen.eu:en16931:2017#compliant#urn:factur-x.eu:1p0:basic", ALTERNATIVE),
  defineFacturX("EN 16931", "urn:cen.eu:en16931:2017", ALTERNATIVE),
  defineFacturX("EXTENDED", "urn:cen.eu:en16931:2017#conformant#urn:factur-x.eu:1p0:extended", ALTERNATIVE),
  {
    name: "XRECHNUNG",
    format: "xrechnung",
    guideline: "urn:cen.eu:en16931:2017#compliant#urn:xeinkauf.de:kosit:xrechnung_3.0",
    relationships: ALTERNATIVE,
    version: "3.0",
  },
];
