/** Finds the attached XML of an e-invoice in a PDF. */
import { errorAt, failed, type Outcome } from "./finding.ts";
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
/** At most this many attachments are read, and at most this many nodes of the tree of their names. */
const MAX_ATTACHMENTS = 1000;
/** What ZUGFeRD 1 and 2.0 called the attachment. */
const OLD_NAME = /^zugferd-invoice\.xml$/i;
const LISTED_NAMES = 5;

export function findAttachment(pdf: PdfFile, format: EInvoiceFormat): Outcome<Attachment> {
  const wanted = ATTACHMENT_NAMES[format];
  const files = attachedFiles(pdf);
  const [found, second] = files.filter(({ name }) => name === wanted);
  if (found === undefined) return failed(errorAt("attachment-name", "attachments", withoutAttachment(files, wanted)));
  if (second !== undefined)
    return failed(errorAt("attachment-name", "attachments", `Two attachments are named ${wanted}.`));
  const { name, dictionary, reference } = found;
  const embedded = pdf.dictionary(dictionary.get("EF"));
  const stream = pdf.stream(embedded?.get("UF") ?? embedded?.get("F"), MAX_XML_BYTES);
  if (stream === null)
    return failed(errorAt("attachment-name", `attachment ${name}`, "The attachment has no content."));
  const associated = pdf.array(pdf.catalog.get("AF")) ?? [];
  return {
    ok: true,
    value: {
      name,
      relationship: nameIn(pdf.resolve(dictionary.get("AFRelationship"))),
      mediaType: nameIn(pdf.resolve(stream.dictionary.get("Subtype"))),
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

function withoutAttachment(files: readonly AttachedFile[], wanted: string): string {
  const old = files.find(({ name }) => OLD_NAME.test(name));
  if (old !== undefined) return `The name ${old.name} is from ZUGFeRD 1 and 2.0. Name the attachment ${wanted}.`;
  if (files.length === 0) return `The PDF has no attachments. Attach the invoice as ${wanted}, with pdf.attach.`;
  const names = files.slice(0, LISTED_NAMES).map(({ name }) => name);
  if (files.length > LISTED_NAMES) names.push("…");
  return `No attachment is named ${wanted}. The PDF has: ${names.join(", ")}.`;
}

function attachedFiles(pdf: PdfFile): AttachedFile[] {
  const files: AttachedFile[] = [];
  const nodes: (PdfValue | undefined)[] = [pdf.dictionary(pdf.catalog.get("Names"))?.get("EmbeddedFiles")];
  // The list grows while it is read. If the tree leads back to itself, the limit stops it.
  for (const node of nodes) {
    const dictionary = pdf.dictionary(node);
    const names = pdf.array(dictionary?.get("Names")) ?? [];
    for (let index = 1; index < names.length && files.length < MAX_ATTACHMENTS; index += 2) {
      const entry = names[index];
      const file = pdf.dictionary(entry);
      const name = file === null ? null : (textIn(pdf.resolve(file.get("UF"))) ?? textIn(pdf.resolve(file.get("F"))));
      if (file === null || name === null) continue;
      files.push({ name, dictionary: file, reference: entry instanceof PdfReference ? entry : null });
    }
    const kids = pdf.array(dictionary?.get("Kids")) ?? [];
    nodes.push(...kids.slice(0, Math.max(0, MAX_ATTACHMENTS - nodes.length)));
  }
  return files;
}

function nameIn(value: PdfValue): string | null {
  return value instanceof PdfName ? value.name : null;
}

/** Reads a text string: UTF-16 or UTF-8 with a byte order mark, or else ASCII, which is enough to compare names. */
function textIn(value: PdfValue): string | null {
  if (!(value instanceof PdfString)) return null;
  const bytes = Uint8Array.from(value.bytes, (character) => character.charCodeAt(0));
  if (value.bytes.startsWith("\xfe\xff")) return new TextDecoder("utf-16be").decode(bytes);
  if (value.bytes.startsWith("\xef\xbb\xbf")) return new TextDecoder().decode(bytes);
  return value.bytes;
}
