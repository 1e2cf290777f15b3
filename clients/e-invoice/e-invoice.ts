/**
 * Finishes e-invoices: finds the invoice that is attached to a PDF/A-3 as XML, and adds the metadata that makes the PDF
 * a Factur-X, ZUGFeRD or XRechnung file (docs/e-invoices.md). Official validators judge the invoice itself. Nothing is
 * sent anywhere.
 */
import { type Attachment, findAttachment } from "./attachment.ts";
import { type Finding, makeFinding, type Refusal, refuseWith } from "./finding.ts";
import { readInvoice } from "./invoice-xml.ts";
import { readMetadata } from "./metadata.ts";
import { PdfFile } from "./pdf-file.ts";
import { PdfReference, PdfString, PdfSyntaxError } from "./pdf-syntax.ts";
import type { EInvoiceFormat, Profile, ProfileName } from "./profiles.ts";

export type { Finding } from "./finding.ts";
export type { EInvoiceFormat, ProfileName } from "./profiles.ts";

export interface FinishOptions {
  /** `factur-x` is also for ZUGFeRD, which is the same. */
  readonly format: EInvoiceFormat;
  /** The profile that the XML must have; by default any of the format. */
  readonly profile?: ProfileName;
}

export type FinishedEInvoice =
  | {
      readonly ok: true;
      /** The original PDF, with an update appended. */
      readonly pdf: Uint8Array<ArrayBuffer>;
      readonly profile: ProfileName;
      /** What the format allows and receivers may refuse. */
      readonly notes: readonly Finding[];
    }
  | Refusal;

/** A program can be expected to hold a file of this size several times. */
const MAX_PDF_BYTES = 256 * 1024 ** 2;
/** The XMP metadata that Typst writes takes about four kilobytes. */
const MAX_METADATA_BYTES = 1024 ** 2;

/**
 * Finishes the invoice in a PDF/A-3.
 *
 * @param pdf as Typst writes it for the standard `a-3b`, `a-3u` or `a-3a`
 * @returns the finished file, or what is wrong with it
 */
export async function finishEInvoice(pdf: Uint8Array, options: FinishOptions): Promise<FinishedEInvoice> {
  if (pdf.length > MAX_PDF_BYTES)
    return refuseWith("pdf-structure", "PDF", `The PDF has more than ${MAX_PDF_BYTES} bytes.`);
  try {
    return await finish(new PdfFile(pdf), pdf, options);
  } catch (error) {
    if (error instanceof PdfSyntaxError) return refuseWith("pdf-structure", "PDF", error.message);
    throw error;
  }
}

async function finish(
  file: PdfFile,
  pdf: Uint8Array,
  { format, profile: wanted }: FinishOptions,
): Promise<FinishedEInvoice> {
  if (file.trailer.has("Prev"))
    return refuseWith(
      "finished-before",
      "PDF",
      "The PDF has been changed since Typst wrote it: it may be finished already.",
    );
  const reference = file.catalog.get("Metadata");
  const stream = file.stream(reference, MAX_METADATA_BYTES);
  const metadata = stream === null ? null : readMetadata(stream.data);
  const isPdfA3 = /^3[ABU]$/.test(metadata?.pdfA ?? "");
  if (!(reference instanceof PdfReference) || stream === null || metadata === null || !isPdfA3) {
    const claim = metadata?.pdfA == null ? "claims no PDF/A" : `is PDF/A-${metadata.pdfA.toLowerCase()}`;
    return refuseWith("pdf-a-3", "metadata", `The PDF ${claim}. Render it with the standard a-3b, a-3u or a-3a.`);
  }
  if (metadata.isFinished)
    return refuseWith("finished-before", "metadata", "The PDF already has the metadata of an e-invoice.");
  const attachment = findAttachment(file, format);
  if (!attachment.ok) return attachment;
  const { name, content } = attachment.value;
  const read = readInvoice(content, format, wanted ?? null);
  if (!read.ok) return read;
  const { profile, sellerCountry } = read.value;
  const findings = checkLink(attachment.value, profile.relationships, profile.name);
  if (findings.length > 0) return { ok: false, findings };

  const [first] = file.array(file.trailer.get("ID")) ?? [];
  if (!(first instanceof PdfString)) return refuseWith("pdf-structure", "PDF", "The PDF has no identifier.");
  const instanceId = await deriveIdentifier(pdf);
  const data = metadata.finished(profile, name, instanceId);
  const { dictionary } = stream;
  return {
    ok: true,
    pdf: file.withChangedStream(reference, { dictionary, data }, [first, new PdfString(instanceId)]),
    profile: profile.name,
    notes: sellerCountry === "DE" ? noteOnRelationship(attachment.value, profile) : [],
  };
}

/** Of an invoice from Germany. */
function noteOnRelationship({ name, relationship }: Attachment, { relationships }: Profile): Finding[] {
  if (relationship === "Alternative" || !relationships.includes("Alternative")) return [];
  const shown = `"${relationship?.toLowerCase()}"`;
  const message = `Its relationship is ${shown}, which receivers in Germany refuse: the seller is there, so write "alternative".`;
  return [makeFinding("attachment-relationship", `attachment ${name}`, message)];
}

function checkLink(
  { name, relationship, mediaType, isAssociated }: Attachment,
  relationships: readonly string[],
  profile: ProfileName,
): Finding[] {
  const place = `attachment ${name}`;
  const findings: Finding[] = [];
  const report = (rule: string, message: string) => findings.push(makeFinding(rule, place, message));
  if (relationship === null || !relationships.includes(relationship)) {
    const allowed = relationships.map((entry) => `"${entry.toLowerCase()}"`).join(" or ");
    report("attachment-relationship", `Its relationship is ${relationship ?? "missing"}; ${profile} needs ${allowed}.`);
  }
  if (mediaType !== "text/xml") {
    report("attachment-type", `Its media type is ${mediaType ?? "missing"}; it must be text/xml.`);
  }
  if (!isAssociated) report("attachment-link", "The document does not refer to it as an associated file (/AF).");
  return findings;
}

/**
 * The identifier of the changed file, always the same for the same file. Like those of Typst, it is 16 bytes in Base64.
 */
async function deriveIdentifier(pdf: Uint8Array): Promise<string> {
  const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", new Uint8Array(pdf)));
  return btoa(String.fromCharCode(...digest.subarray(0, 16)));
}
