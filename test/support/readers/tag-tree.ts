/**
 * The tags of a PDF as a screen reader follows them, one line for each: role, alternative text, words. Text without tags,
 * such as headers and footers, is left out, as a screen reader leaves it out.
 */
import { getDocument, OPS, type PDFPageProxy, VerbosityLevel } from "pdfjs-dist/legacy/build/pdf.mjs";
import { PdfFile } from "../../../clients/e-invoice/pdf-file.ts";
import {
  PdfCursor,
  type PdfDictionary,
  PdfName,
  PdfReference,
  PdfString,
  type PdfValue,
} from "../../../clients/e-invoice/pdf-syntax.ts";

/** They stand in a line of text. What only changes how text looks has no mark. */
const IN_LINE = /^(?:Span|Link|Note|Reference|Code|Quote|Formula)$/;
/** They stand in one line with their parts, if each of these has one. */
const ROWS = /^(?:TR|LI|TOCI|Reference|Link)$/;
/** So does what holds only these. */
const TEXTS = /^ *(?:P|BibEntry): /;

/** @returns lines, indented by depth; `TR > TH: A | TD: B` is a row. A word in angle brackets is the role of a part of a line. */
export async function readTagTree(bytes: Uint8Array): Promise<string> {
  const file = new PdfFile(bytes);
  const reader = new TagReader(file, await readMarkedTexts(file, bytes));
  return `${reader.lines().join("\n")}\n`;
}

/** The text of each marked content sequence, by its page's object and its own number, as `p12R_mc3`. */
async function readMarkedTexts(file: PdfFile, bytes: Uint8Array): Promise<ReadonlyMap<string, string>> {
  const task = getDocument({ data: Uint8Array.from(bytes), verbosity: VerbosityLevel.ERRORS, useSystemFonts: false });
  try {
    const document = await task.promise;
    const texts = new Map<string, string>();
    for (let number = 1; number <= document.numPages; number++) {
      const page = await document.getPage(number);
      for (const [id, text] of await readTextsOfPage(page, propertiesOf(file, page))) texts.set(id, text);
    }
    return texts;
  } finally {
    await task.destroy();
  }
}

/**
 * pdf.js guesses spaces from distances, which makes words of spaced letters: so it only says where a line begins, and
 * the words come from the operators that show them. It knows nothing of the text that stands for glyphs.
 */
async function readTextsOfPage(page: PDFPageProxy, properties: readonly PdfDictionary[]): Promise<Map<string, string>> {
  const texts = new Map<string, string>();
  const open: { id: string | undefined; isReplaced: boolean }[] = [];
  const append = (text: string) => {
    const id = open.at(-1)?.id;
    if (id !== undefined) texts.set(id, `${texts.get(id) ?? ""}${text}`);
  };
  for (const item of (await page.getTextContent({ includeMarkedContent: true })).items) {
    if ("str" in item) {
      if (item.hasEOL) append(" ");
    } else if (item.type === "endMarkedContent") open.pop();
    // What is marked inside of marked text is a part of it.
    else open.push({ id: item.id?.includes("_mc") ? item.id : open.at(-1)?.id, isReplaced: false });
  }
  const { fnArray, argsArray } = await page.getOperatorList();
  let next = 0;
  for (const [index, operator] of fnArray.entries()) {
    const outer = open.at(-1);
    if (operator === OPS.beginMarkedContent) open.push({ id: outer?.id, isReplaced: outer?.isReplaced ?? false });
    if (operator === OPS.beginMarkedContentProps) {
      const own = properties[next++];
      const number = own?.get("MCID");
      open.push({ id: typeof number === "number" ? `p${page.ref?.num}R_mc${number}` : outer?.id, isReplaced: false });
      const replacement = own?.get("ActualText");
      if (replacement instanceof PdfString) {
        append(decodeText(replacement.bytes));
        open.splice(-1, 1, { id: outer?.id, isReplaced: true });
      }
    }
    if (operator === OPS.endMarkedContent) open.pop();
    if (operator === OPS.showText && outer?.isReplaced !== true) {
      const [glyphs]: [{ unicode?: string }[]] = argsArray[index];
      append(glyphs.map((glyph) => glyph?.unicode ?? "").join(""));
    }
  }
  return texts;
}

const MAX_CONTENT_BYTES = 16 * 1024 ** 2;

/** What a page's content says of each marked part, in order. */
function propertiesOf(file: PdfFile, page: PDFPageProxy): PdfDictionary[] {
  const contents = file.dictionary(new PdfReference(page.ref?.num ?? 0))?.get("Contents");
  const text = Buffer.from(file.stream(contents, MAX_CONTENT_BYTES)?.data ?? []).toString("latin1");
  return [...text.matchAll(/\/\w+\s*(?=<<)/g)].flatMap((start) => {
    const cursor = new PdfCursor(text);
    cursor.offset = start.index + start[0].length;
    const value = cursor.value();
    return cursor.take("BDC") && value instanceof Map ? [value] : [];
  });
}

class TagReader {
  readonly #file: PdfFile;
  readonly #texts: ReadonlyMap<string, string>;
  readonly #root: PdfDictionary;

  constructor(file: PdfFile, texts: ReadonlyMap<string, string>) {
    this.#file = file;
    this.#texts = texts;
    const root = file.dictionary(file.catalog.get("StructTreeRoot"));
    if (root === null) throw new Error("the PDF is not tagged");
    this.#root = root;
  }

  lines(): string[] {
    return this.#kids(this.#root).flatMap((kid) => this.#linesOf(kid, this.#root, ""));
  }

  #linesOf(kid: PdfValue, parent: PdfDictionary, indent: string): string[] {
    const element = this.#element(kid);
    if (element === null) return [`${indent}"${this.#words([kid], parent)}"`];
    const head = `${indent}${this.#label(element)}`;
    // The alternative is read, and nothing of what it stands for.
    if (element.has("Alt")) return [head];
    const runs = this.#runsOf(element);
    // Text alone stands beside its role.
    if (runs.every(({ isText }) => isText)) {
      const words = this.#words(this.#kids(element), element);
      return [words === "" ? head : `${head}: ${words}`];
    }
    const nested = runs.flatMap(({ isText, kids }) => {
      if (!isText) return kids.flatMap((one) => this.#linesOf(one, element, `${indent}  `));
      // What is no part of a line, such as a formula of its own.
      const [only] = kids;
      if (kids.length === 1 && only !== undefined && this.#roleOf(this.#element(only)) !== "Span")
        return this.#linesOf(only, element, `${indent}  `);
      const words = this.#words(kids, element);
      return words === "" ? [] : [`${indent}  "${words}"`];
    });
    const isRow =
      (ROWS.test(this.#roleOf(element)) && nested.every((line) => line.search(/\S/) === indent.length + 2)) ||
      (/^(?:Div|LBody)$/.test(this.#roleOf(element)) && nested.every((line) => TEXTS.test(line)));
    return isRow ? [`${head} > ${nested.map((line) => line.trim()).join(" | ")}`] : [head, ...nested];
  }

  /** Neighbours that are text together, all others alone. */
  #runsOf(element: PdfDictionary): { isText: boolean; kids: PdfValue[] }[] {
    const runs: { isText: boolean; kids: PdfValue[] }[] = [];
    for (const kid of this.#kids(element)) {
      const isText = this.#isText(kid);
      const last = runs.at(-1);
      if (isText && last?.isText) last.kids.push(kid);
      else runs.push({ isText, kids: [kid] });
    }
    return runs;
  }

  #isText(kid: PdfValue): boolean {
    const element = this.#element(kid);
    return (
      element === null || (IN_LINE.test(this.#roleOf(element)) && this.#kids(element).every((one) => this.#isText(one)))
    );
  }

  #words(kids: readonly PdfValue[], parent: PdfDictionary): string {
    return (
      kids
        .map((kid) => this.#rawWords(kid, parent))
        .join("")
        // A word that is broken over two lines.
        .replaceAll(/\u00ad\s*/g, "")
        .replaceAll(/\s+/g, " ")
        .trim()
    );
  }

  #rawWords(kid: PdfValue, parent: PdfDictionary): string {
    const element = this.#element(kid);
    if (element !== null) {
      if (element.has("Alt")) return ` <${this.#label(element)}> `;
      const words = this.#kids(element)
        .map((one) => this.#rawWords(one, element))
        .join("");
      return this.#roleOf(element) === "Span" ? words : ` <${this.#label(element)}: ${words.trim()}>`;
    }
    // A number, or a dictionary that also names a page. Annotations have no words.
    const { page, number } =
      typeof kid === "number" ? { page: parent.get("Pg"), number: kid } : this.#markOf(this.#file.dictionary(kid));
    return page instanceof PdfReference ? (this.#texts.get(`p${page.number}R_mc${number}`) ?? "") : "";
  }

  #markOf(mark: PdfDictionary | null) {
    return { page: mark?.get("Pg"), number: mark?.get("MCID") };
  }

  /** The role in PDF 1.7, with the alternative text and what a heading cell is a heading of. */
  #label(element: PdfDictionary): string {
    const alternative = element.get("Alt");
    const attributes = this.#kidsOf(element.get("A")).map((one) => this.#file.dictionary(one)?.get("Scope"));
    const scope = attributes.find((one) => one instanceof PdfName);
    return [
      this.#roleOf(element),
      ...(scope instanceof PdfName ? [scope.name.toLowerCase()] : []),
      ...(alternative instanceof PdfString ? [`"${decodeText(alternative.bytes)}"`] : []),
    ].join(" ");
  }

  /** In PDF 1.7; text without an element of its own is in a span, too. */
  #roleOf(element: PdfDictionary | null): string {
    const role = element?.get("S");
    const name = role instanceof PdfName ? role.name : "Span";
    const mapped = this.#file.dictionary(this.#root.get("RoleMap"))?.get(name);
    return mapped instanceof PdfName ? mapped.name : name;
  }

  #element(kid: PdfValue): PdfDictionary | null {
    const element = this.#file.dictionary(kid);
    return element?.has("S") ? element : null;
  }

  #kids(element: PdfDictionary): readonly PdfValue[] {
    return this.#kidsOf(element.get("K"));
  }

  #kidsOf(value: PdfValue | undefined): readonly PdfValue[] {
    return this.#file.array(value) ?? (value === undefined ? [] : [value]);
  }
}

/** UTF-16 with a byte order mark, or PDFDocEncoding, which is Latin-1 for what examples say. */
function decodeText(bytes: string): string {
  return bytes.startsWith("\xfe\xff") ? Buffer.from(bytes.slice(2), "latin1").swap16().toString("utf16le") : bytes;
}
