/** What a finished PDF can break of the standards that it was requested with, and how that is said. */
import type { PdfStandard } from "../../rules/pdf-standards.ts";
import type { MetadataField } from "./xmp-packet.ts";

/** The rules by their ids, which log lines have. */
export type BrokenRule =
  /** ISO 19005-2 and -3, 6.1.13. */
  | {
      readonly rule: "page_size";
      /** Counted from 1 in the file. */
      readonly page: number;
      readonly box: "page" | "trimmed";
      readonly side: "wide" | "high";
      readonly points: number;
    }
  /** ISO 19005-4, 6.9. */
  | { readonly rule: "attachment_media_type" /** Counted from 1. */; readonly attachment: number }
  /** ISO 14289-1, 7.11. */
  | { readonly rule: "attachment_name"; readonly attachment: number }
  /** ISO 14289-1, 7.2 and 7.11, by what only later versions of PDF have. */
  | { readonly rule: "pdf_version"; readonly needs: "table" | "attachment" }
  /** The XMP packet is no XML. */
  | { readonly rule: "metadata_characters"; readonly field: MetadataField; readonly codePoint: number }
  /** ISO 19005-1, 6.7.3: the document information and the XMP packet must be equal. */
  | { readonly rule: "metadata_copies"; readonly field: MetadataField }
  | { readonly rule: "metadata_date"; readonly year: number }
  /** ISO 19005-1, 6.8.4; -2 and -3, 6.7.4; ISO 14289-1, 7.2. */
  | { readonly rule: "language_tag" }
  /** ISO 19005-1, 6.1.12; -2 and -3, 6.1.13. */
  | { readonly rule: "string_length"; readonly bytes: number; readonly maxBytes: number };

export type BrokenRuleId = BrokenRule["rule"];

export const MIN_PAGE_POINTS = 3;
export const MAX_PAGE_POINTS = 14_400;

/** With the verb, because of the plural. */
const NAMES: Readonly<Record<MetadataField, string>> = {
  title: "title has",
  description: "description has",
  keywords: "keywords have",
  author: "author has",
  language: "language has",
};

const BRIEFLY = "The PDF would not be what its standard requires: ";

/** The `detail` of the problem: nothing of the document but which of its fields it is. */
export function describeBriefly(broken: BrokenRule): string {
  return BRIEFLY + briefReason(broken);
}

export function isOfFinishedPdf(detail: string): boolean {
  return detail.startsWith(BRIEFLY);
}

function briefReason(broken: BrokenRule): string {
  switch (broken.rule) {
    case "page_size":
      return "PDF/A-2 and PDF/A-3 allow pages of 3 to 14,400 pt in each direction, and one is larger or smaller.";
    case "attachment_media_type":
      return "PDF/A-4f and PDF/A-4e require a media type of each attached file, and one has none.";
    case "attachment_name":
      return "PDF/UA-1 requires a name of each attached file, and one has none.";
    case "pdf_version":
      return broken.needs === "table"
        ? "a table with a header or a footer cannot be PDF/UA-1 in PDF 1.4, which PDF/A-1 is, too."
        : "a file with attached files can be PDF/UA-1 only in PDF 1.7.";
    case "metadata_characters":
      return `the ${NAMES[broken.field]} a character that its metadata cannot hold, such as a control character.`;
    case "metadata_copies":
      return `the ${NAMES[broken.field]} a carriage return, which only one of the two copies in a PDF/A-1 can hold.`;
    case "metadata_date":
      return "the date of the document is before 15 October 1582, which PDF/A-1 has twice, and validators read as two dates.";
    case "language_tag":
      return "the language of a text is not one, such as en or de-CH.";
    case "string_length":
      return "a title, heading, description or alternative text is too long.";
  }
}

/** Describes the broken rule with the numbers of the document, and says what helps. @param pages of the request */
export function describeInFull(
  broken: BrokenRule,
  { standards, pages }: { readonly standards: readonly PdfStandard[]; readonly pages: string | null },
): string {
  const archival = standards.find((standard) => standard.startsWith("a-")) ?? "";
  const part = `PDF/A-${archival.charAt(2)}`;
  switch (broken.rule) {
    case "page_size":
      return describePageSize(broken, part, pages === null ? "" : " of the selected ones");
    case "attachment_media_type":
      return `Attached file ${broken.attachment} has no media type, which PDF/${archival.replace("a", "A")} requires: pdf.attach(…, mime-type: "text/csv").`;
    case "attachment_name":
      return `Attached file ${broken.attachment} has an empty name; PDF/UA-1 requires one: pdf.attach("data.csv", …).`;
    case "pdf_version":
      return `${capitalize(briefReason(broken))} ${archival === "" ? "Leave out the version" : "Ask for PDF/A-2 or PDF/A-3"}.`;
    case "metadata_characters":
      return describeCharacter(broken);
    case "metadata_copies":
      return `The ${NAMES[broken.field]} a carriage return, U+000D, which only one of the two copies in a ${part} can hold. Replace it, as in data.title.replace("\\r\\n", "\\n").`;
    case "metadata_date":
      return `The date of the document is in the year ${broken.year}. Before 15 October 1582, validators read its two copies in a ${part} as two dates. PDF/A-2 has no such rule.`;
    case "language_tag":
      return 'The language of a text is not one, as in set text(lang: "de", region: "CH"). It may have only letters; except in PDF/A-1, a region may also have digits.';
    case "string_length":
      return `A title, heading, description or alternative text takes ${format(broken.bytes)} bytes in the PDF, two for each character if not all are ASCII; ${part} allows ${format(broken.maxBytes)}. PDF/A-4 has no such bound.`;
  }
}

function describePageSize(
  { page, box, side, points }: BrokenRule & { rule: "page_size" },
  part: string,
  selection: string,
): string {
  const what = `${box === "page" ? "Page" : "Without its bleed, page"} ${page}${selection} is`;
  const bound = points > MAX_PAGE_POINTS ? `allows ${format(MAX_PAGE_POINTS)}` : `requires ${format(MIN_PAGE_POINTS)}`;
  return `${what} ${formatNear(points)} pt ${side}; ${part} ${bound}. PDF/A-4 has no such bound.`;
}

function describeCharacter({ field, codePoint }: BrokenRule & { rule: "metadata_characters" }): string {
  const hexadecimal = codePoint.toString(16);
  const name = `U+${hexadecimal.toUpperCase().padStart(4, "0")}`;
  const remedy = field === "language" ? "" : ` Replace it, as in data.title.replace("\\u{${hexadecimal}}", " ").`;
  return `The ${NAMES[field]} the character ${name}, which metadata, being XML, cannot hold.${remedy}`;
}

function capitalize(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

function format(number: number): string {
  return number.toLocaleString("en", { maximumFractionDigits: 0 });
}

/** Rounded, unless it would seem to be within the bounds then. */
function formatNear(points: number): string {
  const rounded = Math.round(points);
  const isWithin = rounded >= MIN_PAGE_POINTS && rounded <= MAX_PAGE_POINTS;
  return isWithin ? points.toLocaleString("en", { maximumFractionDigits: 4 }) : format(points);
}
