/**
 * Whether a finished PDF is what its standards require, in what Typst copies from the document unchecked: page
 * sizes, metadata, languages, attached files. It reads the bytes as they pass, once, and keeps little of them. What
 * Typst checks itself is not checked again, and the content of pages, which is compressed, not at all.
 */
import type { Output } from "../../rules/output-options.ts";
import type { PdfStandard } from "../../rules/pdf-standards.ts";
import { type BrokenRule, MAX_PAGE_POINTS, MIN_PAGE_POINTS } from "./broken-rule.ts";
import { type PdfEntry, type PdfObject, type PdfObjectReader, PdfObjects, TRAILER } from "./pdf-objects.ts";
import { type MetadataField, XmpPacket } from "./xmp-packet.ts";

export type PdfVerdict =
  | { readonly kind: "kept" }
  /** The first of each kind. */
  | { readonly kind: "broken"; readonly rules: readonly [BrokenRule, ...BrokenRule[]] }
  /** Not a PDF as Typst writes it: nothing can be said. */
  | { readonly kind: "unread" };

const BOXES = ["MediaBox", "CropBox", "BleedBox", "TrimBox", "ArtBox"] as const;

/** The entries of the document information that XMP repeats. */
const INFORMATION = {
  Title: "title",
  Subject: "description",
  Keywords: "keywords",
  Author: "author",
} as const satisfies Record<string, MetadataField>;

const INFORMATION_KEYS = [...Object.keys(INFORMATION), "CreationDate"];

const WANTED_KEYS: ReadonlySet<string> = new Set([
  ...["Type", "Subtype", "Length", "Lang", "Info", "F", "UF", "S", "P"],
  ...BOXES,
  ...INFORMATION_KEYS,
]);

const KNOWN_TYPES: ReadonlySet<string> = new Set([
  ...["Page", "Filespec", "EmbeddedFile", "Catalog", "Metadata", "StructElem"],
  ...["TR", "P"],
]);

/** The longest string by the part of PDF/A; PDF/A-4 has no limit. */
const MAX_STRING_BYTES: Readonly<Record<string, number>> = { 1: 65_535, 2: 32_767, 3: 32_767 };

/** By veraPDF 1.28.2, which takes the tags of RFC 1766 for PDF/A-1. */
const LANGUAGE_OF_PDF_A_1 = /^[A-Za-z]{1,8}(?:-[A-Za-z]{1,8})*$/;
const LANGUAGE = /^[A-Za-z]{1,8}(?:-[A-Za-z0-9]{1,8})*$/;
/** Typst itself refuses those without a media type under PDF/A-3. */
const TYPED_FILES = /^a-4[ef]$/;
const TAGGED = /^(?:ua-1|a-[123]a)$/;
/** Typst writes the language into the XMP packet without escaping it. */
const BREAKS_XML = /[<&]|\]\]>/;

/** Before it, validators count the days of one copy by the Julian calendar, which was equal only in the third century. */
const FIRST_GREGORIAN_DAY = 1582_10_15;
const JULIAN_IS_EQUAL = { from: 200_03_01, to: 300_02_28 };

/** Null if the output claims no standard. */
export function finishedPdfOf(output: Output): FinishedPdf | null {
  return output.format === "pdf" && output.standards.length > 0 ? new FinishedPdf(output.standards) : null;
}

export class FinishedPdf implements PdfObjectReader {
  readonly wantedKeys = WANTED_KEYS;
  readonly knownNames = KNOWN_TYPES;
  /** Zero unless they are compared. */
  readonly maxStringBytes: number;
  readonly #standards: readonly PdfStandard[];
  /** Of PDF/A; empty for PDF/UA alone. */
  readonly #part: string;
  readonly #languages: RegExp | null;
  readonly #objects: PdfObjects;
  readonly #xmp: XmpPacket;
  readonly #broken = new Map<string, BrokenRule>();
  #pages = 0;
  /** Attached files, as they are named and as they are embedded: in the same order. */
  #names = 0;
  #attachments = 0;
  /** The object in which the last row of a table is. */
  #parentOfRow: number | null = null;
  /** The last object that may be the document information: only the trailer says which one is. */
  #information: PdfObject | null = null;

  /** @param standards of the request */
  constructor(standards: readonly PdfStandard[]) {
    this.#standards = standards;
    this.#part = standards.find((standard) => standard.startsWith("a-"))?.charAt(2) ?? "";
    const hasCopies = this.#part === "1";
    this.maxStringBytes = hasCopies ? (MAX_STRING_BYTES[1] ?? 0) : 0;
    this.#languages = standards.some((standard) => TAGGED.test(standard))
      ? hasCopies
        ? LANGUAGE_OF_PDF_A_1
        : LANGUAGE
      : null;
    this.#objects = new PdfObjects(this);
    this.#xmp = new XmpPacket(hasCopies);
  }

  push(chunk: Uint8Array): void {
    this.#objects.push(chunk);
  }

  /** After the last chunk. */
  end(): PdfVerdict {
    if (!this.#objects.isWhole) return { kind: "unread" };
    const [first, ...others] = this.#broken.values();
    return first === undefined ? { kind: "kept" } : { kind: "broken", rules: [first, ...others] };
  }

  object(object: PdfObject): void {
    const { number, entries } = object;
    if (number === TRAILER) {
      this.#judgeMetadata(entries);
      return;
    }
    switch (nameIn(entries, "Type")) {
      case "Page":
        this.#pages++;
        if (this.#part === "2" || this.#part === "3") this.#judgePage(entries);
        break;
      case "Filespec":
        this.#names++;
        if (this.#standards.includes("ua-1")) this.#judgeName(entries);
        break;
      case "StructElem":
        if (this.#standards.includes("ua-1")) this.#judgeElement(object);
        break;
      case "EmbeddedFile":
        this.#attachments++;
        if (nameIn(entries, "Subtype") === null && this.#standards.some((standard) => TYPED_FILES.test(standard))) {
          this.#add({ rule: "attachment_media_type", attachment: this.#attachments });
        }
        break;
      case "Catalog":
        if (BREAKS_XML.test(stringIn(entries, "Lang") ?? "")) this.#add({ rule: "language_tag" });
        break;
      case null:
        if (INFORMATION_KEYS.some((key) => entries.has(key))) this.#information = object;
    }
  }

  streamPart(entries: PdfObject["entries"], bytes: Uint8Array): void {
    if (nameIn(entries, "Type") === "Metadata") this.#xmp.push(bytes);
  }

  string(byteLength: number): void {
    const maxBytes = MAX_STRING_BYTES[this.#part];
    if (maxBytes !== undefined && byteLength > maxBytes) {
      this.#add({ rule: "string_length", bytes: byteLength, maxBytes });
    }
  }

  language(tag: string | null): void {
    if (this.#languages !== null && (tag === null || !this.#languages.test(tag))) this.#add({ rule: "language_tag" });
  }

  #judgeName(entries: PdfObject["entries"]): void {
    if (isEmpty(entries.get("F"))) this.#add({ rule: "attachment_name", attachment: this.#names });
    else if (!entries.has("UF")) this.#add({ rule: "pdf_version", needs: "attachment" });
  }

  /** Typst writes an element after those in it, and for a group of rows, which PDF 1.4 does not know, a paragraph. */
  #judgeElement({ number, entries }: PdfObject): void {
    const type = nameIn(entries, "S");
    const parent = entries.get("P");
    if (type === "TR") this.#parentOfRow = parent?.kind === "number" ? parent.value : null;
    else if (type === "P" && number === this.#parentOfRow) this.#add({ rule: "pdf_version", needs: "table" });
  }

  #judgePage(entries: PdfObject["entries"]): void {
    for (const box of BOXES) {
      const entry = entries.get(box);
      if (entry?.kind !== "numbers") continue;
      const [left = 0, bottom = 0, right = 0, top = 0] = entry.values;
      for (const [side, points] of [
        ["wide", right - left],
        ["high", top - bottom],
      ] as const) {
        if (points >= MIN_PAGE_POINTS && points <= MAX_PAGE_POINTS) continue;
        const isWhole = box === "MediaBox";
        this.#add({ rule: "page_size", page: this.#pages, box: isWhole ? "page" : "trimmed", side, points });
      }
    }
  }

  /** @param trailer after which there is nothing more to read */
  #judgeMetadata(trailer: PdfObject["entries"]): void {
    for (const [field, codePoint] of this.#xmp.forbidden) this.#add({ rule: "metadata_characters", field, codePoint });
    const information = trailer.get("Info");
    const isKnown = information?.kind === "number" && information.value === this.#information?.number;
    if (this.#part !== "1" || !isKnown || this.#information === null) return;
    const { entries } = this.#information;
    for (const [key, field] of Object.entries(INFORMATION)) {
      const [ours, theirs] = [stringIn(entries, key), this.#xmp.textOf(field)];
      const isBroken = ours !== null && theirs !== null && decodeText(ours) !== theirs;
      if (isBroken && !this.#xmp.forbidden.has(field)) this.#add({ rule: "metadata_copies", field });
    }
    const day = Number(/^D:(\d{8})/.exec(stringIn(entries, "CreationDate") ?? "")?.[1] ?? FIRST_GREGORIAN_DAY);
    const isEqual = day >= JULIAN_IS_EQUAL.from && day <= JULIAN_IS_EQUAL.to;
    if (day < FIRST_GREGORIAN_DAY && !isEqual) this.#add({ rule: "metadata_date", year: Math.floor(day / 10_000) });
  }

  /** The first of each rule, and of each field. */
  #add(broken: BrokenRule): void {
    const key = "field" in broken ? `${broken.rule} ${broken.field}` : broken.rule;
    if (!this.#broken.has(key)) this.#broken.set(key, broken);
  }
}

function isEmpty(entry: PdfEntry | undefined): boolean {
  return entry?.kind === "string" && entry.byteLength === 0;
}

function nameIn(entries: PdfObject["entries"], key: string): string | null {
  const entry = entries.get(key);
  return entry?.kind === "name" ? entry.name : null;
}

function stringIn(entries: PdfObject["entries"], key: string): string | null {
  const entry = entries.get(key);
  return entry?.kind === "string" ? entry.bytes : null;
}

/** A text string (ISO 32000-1, 7.9.2.2) as Typst writes it: printable ASCII, or UTF-16 after a byte order mark. */
function decodeText(bytes: string): string {
  if (!bytes.startsWith("\xfe\xff")) return bytes;
  let text = "";
  for (let at = 2; at < bytes.length; at += 2) {
    text += String.fromCharCode((bytes.charCodeAt(at) << 8) | bytes.charCodeAt(at + 1));
  }
  return text;
}
