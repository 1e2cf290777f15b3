/** Finds the attached XML of an e-invoice in a PDF. */
import { type Outcome, refuseWith } from "./finding.ts";
import type { PdfFile } from "./pdf-file.ts";
import { type PdfDictionary, PdfName, PdfReference, PdfString, type PdfValue } from "./pdf-syntax.ts";
import { ATTACHMENT_NAMES, type EInvoiceFormat } from "./profiles.ts";

export interface Attachment {
  readonly name: string;
  /** `AFRelationship`; null if there is none. */
  readonly relationship: string | null;
  /** Null if there is none. */
  readonly mediaType: string | null;
  /** Whether it is associated with the document (/AF): PDF/A-3 forbids attachments that are associated with nothing. */
  readonly isAssociated: boolean;
  readonly content: Uint8Array;
}

/** Far more than an invoice with its annexes needs. */
const MAX_XML_BYTES = 16 * 1024 ** 2;
/** What ZUGFeRD 1 and 2.0 called the attachment. */
const OLD_NAME = /^zugferd-invoice\.xml$/i;
const LISTED_NAMES = 5;

export function findAttachment(pdf: PdfFile, format: EInvoiceFormat): Outcome<Attachment> {
  const wanted = ATTACHMENT_NAMES[format];
  const files = listAttachedFiles(pdf);
  const [found, second] = files.filter(({ name }) => name === wanted);
  if (found === undefined) return refuseWith("attachment-name", "attachments", describeMissing(files, wanted));
  if (second !== undefined) return refuseWith("attachment-name", "attachments", `Two attachments are named ${wanted}.`);
  const { name, dictionary, reference } = found;
  const embedded = pdf.dictionary(dictionary.get("EF"));
  const stream = pdf.stream(embedded?.get("UF") ?? embedded?.get("F"), MAX_XML_BYTES);
  if (stream === null) return refuseWith("attachment-name", `attachment ${name}`, "The attachment has no content.");
  const associated = pdf.array(pdf.catalog.get("AF")) ?? [];
  return {
    ok: true,
    value: {
      name,
      relationship: readName(dictionary.get("AFRelationship")),
      mediaType: readName(stream.dictionary.get("Subtype")),
      isAssociated: associated.some((entry) => entry instanceof PdfReference && entry.number === reference?.number),
      content: stream.data,
    },
  };
}

interface AttachedFile {
  readonly name: string;
  readonly dictionary: PdfDictionary;
  readonly reference: PdfReference | null;
}

function describeMissing(files: readonly AttachedFile[], wanted: string): string {
  const old = files.find(({ name }) => OLD_NAME.test(name));
  if (old !== undefined) return `The name ${old.name} is from ZUGFeRD 1 and 2.0. Name the attachment ${wanted}.`;
  if (files.length === 0) return `The PDF has no attachments. Attach the invoice as ${wanted}, with pdf.attach.`;
  const names = files.slice(0, LISTED_NAMES).map(({ name }) => name);
  if (files.length > LISTED_NAMES) names.push("…");
  return `No attachment is named ${wanted}. The PDF has: ${names.join(", ")}.`;
}

function listAttachedFiles(pdf: PdfFile): AttachedFile[] {
  const files: AttachedFile[] = [];
  const tree = pdf.dictionary(pdf.dictionary(pdf.catalog.get("Names"))?.get("EmbeddedFiles"));
  const names = pdf.array(tree?.get("Names")) ?? [];
  for (let index = 1; index < names.length; index += 2) {
    const entry = names[index];
    const file = pdf.dictionary(entry);
    const name = readText(file?.get("UF")) ?? readText(file?.get("F"));
    if (file === null || name === null) continue;
    files.push({ name, dictionary: file, reference: entry instanceof PdfReference ? entry : null });
  }
  return files;
}

function readName(value: PdfValue | undefined): string | null {
  return value instanceof PdfName ? value.name : null;
}

/** Reads a text string: UTF-16 with a byte order mark, or UTF-8, which includes ASCII. Enough to compare names. */
function readText(value: PdfValue | undefined): string | null {
  if (!(value instanceof PdfString)) return null;
  const bytes = Uint8Array.from(value.bytes, (character) => character.charCodeAt(0));
  return new TextDecoder(value.bytes.startsWith("\xfe\xff") ? "utf-16be" : "utf-8").decode(bytes);
}
