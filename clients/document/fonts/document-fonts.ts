/**
 * Which fonts a finished PDF by Typst 0.15 has, with the characters that each shows, and how many glyphs are the empty
 * box that stands for a character without any font. Pages, and what they contain, are read as Typst writes them.
 */
import { PdfFile } from "../../e-invoice/pdf-file.ts";
import { PdfName, PdfReference, PdfSyntaxError, type PdfValue } from "../../e-invoice/pdf-syntax.ts";
import type { DocumentFont, DocumentFonts } from "./font-findings.ts";

/** For tens of thousands of pages: about a hundred bytes for each object. */
const MAX_OBJECT_BYTES = 256 * 1024 ** 2;
const MAX_CONTENT_BYTES = 256 * 1024 ** 2;
const MAX_DEPTH = 64;
const MAX_BOXED_CHARACTERS = 1000;

/** @returns null for what is not a PDF as Typst writes it, or is too large to be read */
export function readDocumentFonts(bytes: Uint8Array): DocumentFonts | null {
  try {
    const file = new PdfFile(bytes, MAX_OBJECT_BYTES);
    const reader = new FontReader(file);
    reader.readPages(file.catalog.get("Pages"), 0);
    return reader;
  } catch (error) {
    if (error instanceof PdfSyntaxError) return null;
    throw error;
  }
}

type Resources = ReadonlyMap<string, PdfValue> | null;

class FontReader implements DocumentFonts {
  readonly #file: PdfFile;
  readonly #byNumber = new Map<number, { readonly name: string; readonly characters: ReadonlySet<string> }>();
  /** The objects that were read, which several pages may use. */
  readonly #seen = new Set<number>();
  #contentBytesLeft = MAX_CONTENT_BYTES;
  boxes = 0;
  readonly boxedCharacters = new Set<string>();

  constructor(file: PdfFile) {
    this.#file = file;
  }

  get fonts(): readonly DocumentFont[] {
    return [...this.#byNumber.values()];
  }

  readPages(node: PdfValue | undefined, depth: number): void {
    if (depth > MAX_DEPTH || this.#isSeen(node)) return;
    const page = this.#file.dictionary(node);
    const kids = this.#file.array(page?.get("Kids"));
    for (const kid of kids ?? []) this.readPages(kid, depth + 1);
    if (kids !== null || page === null) return;
    const resources = this.#file.dictionary(page.get("Resources"));
    for (const content of this.#file.array(page.get("Contents")) ?? [page.get("Contents")]) {
      this.#readContent(content, resources, depth);
    }
  }

  /** What a page, a form or a pattern shows, and what is drawn in it. */
  #readContent(stream: PdfValue | undefined, resources: Resources, depth: number): void {
    if (depth > MAX_DEPTH || this.#isSeen(stream)) return;
    const content = this.#file.stream(stream, this.#contentBytesLeft)?.data;
    if (content === undefined) return;
    this.#contentBytesLeft -= content.length;
    const fonts = this.#file.dictionary(resources?.get("Font")) ?? new Map<string, PdfValue>();
    for (const font of fonts.values()) this.#readFont(font);
    this.#readTexts(content, (name) => fonts.get(name));
    for (const kind of ["XObject", "Pattern"]) {
      for (const inner of this.#file.dictionary(resources?.get(kind))?.values() ?? []) {
        const dictionary = this.#file.dictionary(inner);
        if (nameOf(dictionary?.get("Subtype")) === "Image") continue;
        this.#readContent(inner, this.#file.dictionary(dictionary?.get("Resources")), depth + 1);
      }
    }
  }

  #readFont(reference: PdfValue): void {
    const font = this.#isSeen(reference) ? null : this.#file.dictionary(reference);
    const name = nameOf(font?.get("BaseFont"));
    if (font === null || name === null || !(reference instanceof PdfReference)) return;
    const map = this.#file.stream(font.get("ToUnicode"), this.#contentBytesLeft)?.data;
    this.#contentBytesLeft -= map?.length ?? 0;
    this.#byNumber.set(reference.number, {
      name: name.replace(/^[A-Z]{6}\+/, "").replace(/-Identity-H$/, ""),
      characters: map === undefined ? new Set() : charactersOf(map),
    });
  }

  /** Counts the boxes. Of equal glyphs, as all boxes are, Typst writes what the later ones mean beside the text. */
  #readTexts(content: Uint8Array, fontOf: (name: string) => PdfValue | undefined): void {
    for (const { font, boxes, meaning } of findTexts(content)) {
      const reference = fontOf(font);
      // One without a number has a byte for each glyph, of which none is a box: colour emoji.
      if (boxes === 0 || !(reference instanceof PdfReference) || !this.#byNumber.has(reference.number)) continue;
      this.boxes += boxes;
      for (const character of meaning) {
        if (this.boxedCharacters.size < MAX_BOXED_CHARACTERS) this.boxedCharacters.add(character);
      }
    }
  }

  #isSeen(value: PdfValue | undefined): boolean {
    if (!(value instanceof PdfReference)) return false;
    const isSeen = this.#seen.has(value.number);
    this.#seen.add(value.number);
    return isSeen;
  }
}

function nameOf(value: PdfValue | undefined): string | null {
  return value instanceof PdfName ? value.name : null;
}

/** The characters to which a font's table maps its glyphs. */
function charactersOf(map: Uint8Array): Set<string> {
  const [, ...lists] = new TextDecoder("latin1").decode(map).split("beginbfchar");
  const characters = new Set<string>();
  for (const list of lists) {
    for (const [, hex = ""] of list.matchAll(/<[0-9A-F]{4}> <((?:[0-9A-F]{4})+)>/g)) {
      for (const character of decodeUtf16(hex)) characters.add(character);
    }
  }
  return characters;
}

function decodeUtf16(hex: string): string {
  const units = hex.match(/.{4}/g) ?? [];
  return String.fromCharCode(...units.map((unit) => Number.parseInt(unit, 16)));
}

/** What matters of page content: strings, their font, the operators that show them, and what text a span stands for. */
const CONTENT = /\(|\/(\w+) [-\d.]+ Tf\b|<FEFF([0-9A-F]*)>>>BDC\b|\b(?:TJ|Tj|BDC|EMC)\b/g;

interface ShownText {
  /** Its name among the resources. */
  readonly font: string;
  /** How often it has glyph 0, the box of a font whose glyphs have two bytes each. */
  readonly boxes: number;
  /** The text that it stands for, where Typst says so. */
  readonly meaning: string;
}

function* findTexts(bytes: Uint8Array): Generator<ShownText, void, void> {
  const content = new TextDecoder("latin1").decode(bytes);
  const token = new RegExp(CONTENT);
  let font = "";
  let boxes = 0;
  let meaning = "";
  for (let match = token.exec(content); match !== null; match = token.exec(content)) {
    const [word, name, text] = match;
    if (word === "(") {
      const string = readString(bytes, token.lastIndex);
      boxes += string.boxes;
      token.lastIndex = string.end;
      continue;
    }
    if (name !== undefined) font = name;
    else if (word === "TJ" || word === "Tj") yield { font, boxes, meaning };
    else meaning = text === undefined ? "" : decodeUtf16(text);
    boxes = 0;
  }
}

const CODE = { open: 0x28, close: 0x29, backslash: 0x5c, zero: 0x30, seven: 0x37 } as const;

/** Counts the boxes in the string after a parenthesis. Each glyph has two bytes. @returns also where the string ends */
function readString(bytes: Uint8Array, start: number): { boxes: number; end: number } {
  let boxes = 0;
  let depth = 1;
  let length = 0;
  let before = -1;
  let at = start;
  for (; at < bytes.length; at++) {
    let byte = bytes[at] ?? 0;
    if (byte === CODE.open) depth++;
    else if (byte === CODE.close && --depth === 0) break;
    else if (byte === CODE.backslash) {
      byte = bytes[++at] ?? 0;
      // Typst writes all three digits of a byte, and no other escape stands for zero.
      if (byte >= CODE.zero && byte <= CODE.seven) {
        byte = ((byte & 7) << 6) | (((bytes[at + 1] ?? 0) & 7) << 3) | ((bytes[at + 2] ?? 0) & 7);
        at += 2;
      }
    }
    if (length % 2 === 1 && byte === 0 && before === 0) boxes++;
    before = byte;
    length++;
  }
  return { boxes, end: at + 1 };
}
