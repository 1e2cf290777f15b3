/**
 * Which fonts and characters a document needs that neither the request nor the service has. Typst replaces a missing family and
 * shows a missing character as an empty box, and the service does not pass its warnings on.
 *
 * Documents are not compiled here, so this goes by their text: families that a template puts together while it is compiled are
 * not seen, and characters that it never shows are.
 */
import type { FontFamily } from "../protocol/capabilities.ts";
import { type CodePoints, hasCodePoint, parseCodePoints } from "../protocol/code-points.ts";
import { fontFaces } from "../protocol/font-file.ts";
import { isFont } from "../rules/font-names.ts";
import { withoutComments } from "./typst-text.ts";

/** A request as text and bytes. */
export interface DocumentParts {
  readonly source: string;
  readonly files: readonly { readonly key: string; readonly bytes: Uint8Array }[];
  /** JSON text; null if there is none. */
  readonly data: string | null;
}

export interface MissingFonts {
  /** As the document spells them. Each name of a list of alternatives counts, as in Typst's own warnings. */
  readonly families: readonly string[];
  /** In the order of their code points; none if the service does not say which ones it has. */
  readonly characters: readonly string[];
}

/** @param fonts of the service, from its capabilities */
export function missingFonts(document: DocumentParts, fonts: readonly FontFamily[]): MissingFonts {
  const texts = textsOf(document);
  const faces = document.files.filter(({ key }) => isFont(key)).flatMap(({ bytes }) => fontFaces(bytes));
  const available = new Set([...fonts, ...faces].map(({ family }) => family?.toLowerCase()));
  const families = requestedFamilies(texts).filter((family) => !available.has(family.toLowerCase()));
  const sets = [
    ...fonts.map(({ code_points }) => (code_points === undefined ? null : parseCodePoints(code_points))),
    ...faces.map(({ codePoints }) => codePoints),
  ];
  return { families, characters: sets.includes(null) ? [] : missingCharacters(texts, sets) };
}

/** What is missing, in a sentence for each kind. */
export function describeMissing({ families, characters }: MissingFonts): string[] {
  return [
    ...families.map(
      (family) => `The service has no font family "${family}", and the request brings none: Typst uses another font.`,
    ),
    ...(characters.length === 0
      ? []
      : [
          `No font of the service or of the request has ${charactersInWords(characters)}: Typst shows empty boxes instead.`,
        ]),
  ];
}

/** More would fill the screen: a text in a script that has no font has hundreds. */
const MAX_NAMED = 10;

/** The first few with their code points, and how many more there are. */
export function charactersInWords(characters: readonly string[]): string {
  const more = characters.length > MAX_NAMED ? ` and ${characters.length - MAX_NAMED} more` : "";
  return `${characters.slice(0, MAX_NAMED).map(nameOfCharacter).join(", ")}${more}`;
}

/** The character and its code point: many of them cannot be seen, least of all where their font is missing. */
function nameOfCharacter(character: string): string {
  const codePoint = character.codePointAt(0) ?? 0;
  return `${/\p{M}/u.test(character) ? `◌${character}` : character} (U+${codePoint.toString(16).toUpperCase().padStart(4, "0")})`;
}

interface DocumentTexts {
  /** Typst, without comments. */
  readonly typst: readonly string[];
  /** Everything else that the document may show. */
  readonly shown: readonly string[];
}

const TYPST_FILE = /\.typ$/i;
/** Files that have text which documents show. Others count if a Typst file names them: a folder may have a licence in it. */
const TEXT_FILE = /\.(?:csv|tsv|json|toml|ya?ml|bib|xml|svg)$/i;

function textsOf({ source, files, data }: DocumentParts): DocumentTexts {
  const decoder = new TextDecoder("utf-8");
  const typst = [source, ...files.filter(({ key }) => TYPST_FILE.test(key)).map(({ bytes }) => decoder.decode(bytes))];
  const isNamed = (name: string) => typst.some((text) => text.includes(name)) || data?.includes(name) === true;
  const shown = files.flatMap(({ key, bytes }) => {
    if (TYPST_FILE.test(key) || isFont(key)) return [];
    if (!TEXT_FILE.test(key) && !isNamed(key.split("/").at(-1) ?? key)) return [];
    const text = utf8(bytes);
    return text === null ? [] : [/\.json$/i.test(key) ? withoutJsonEscapes(text) : text];
  });
  return {
    typst: typst.map(withoutComments),
    shown: data === null ? shown : [...shown, withoutJsonEscapes(data)],
  };
}

/** Null if it is not text: an image, for example. */
function utf8(bytes: Uint8Array): string | null {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    return null;
  }
}

function withoutJsonEscapes(text: string): string {
  return text.replace(/\\u([0-9a-f]{4})/gi, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)));
}

/**
 * The families that the texts ask for: `font: "A"`, `font: ("A", "B")`, `font: (name: "A", covers: …)`, and `font: name` where
 * something gives the name such a value: `let name = "A"`, or an argument or a member `name: "A"`.
 */
function requestedFamilies({ typst }: DocumentTexts): string[] {
  const families = new Set<string>();
  const addLiterals = (text: string, before: RegExp) => {
    for (const match of text.matchAll(before)) {
      for (const family of literalFamilies(text, match.index + match[0].length)) families.add(family);
    }
  };
  for (const text of typst) {
    addLiterals(text, /(?<![\w-])font\s*:\s*(?=["(])/g);
    for (const [, name = ""] of text.matchAll(/(?<![\w-])font\s*:\s*(?:[\w-]+\.)*([\w-]+)\s*[,)\]]/g)) {
      if (/font|family|face/i.test(name)) {
        for (const other of typst) addLiterals(other, new RegExp(`(?<![\\w-])${name}\\s*[:=]\\s*(?=["(])`, "g"));
      } else if (!new RegExp(`\\([^()]*(?<![\\w-])${name}(?![\\w-])[^()]*\\)\\s*=`).test(text)) {
        // Not a parameter, which may have the name of anything.
        addLiterals(text, new RegExp(`\\blet\\s+${name}\\s*=\\s*(?=["(])`, "g"));
      }
    }
  }
  return [...families];
}

/** A string, a parenthesis, or what comes before one of them. */
const TOKEN = /"((?:[^"\\\n]|\\.)*)"|[()]|[^"()]+/g;
/** No list of fonts is longer; a parenthesis that is never closed ends here. */
const MAX_LIST_LENGTH = 4096;

/** The families of the string or the list in parentheses that begins at a position. */
function literalFamilies(text: string, at: number): string[] {
  const families: string[] = [];
  let depth = 0;
  let before = "";
  const list = text.slice(at, at + MAX_LIST_LENGTH);
  for (const { 0: token, 1: string, index } of list.matchAll(TOKEN)) {
    if (string !== undefined) {
      // `covers: "latin-in-cjk"` and `regex("…")` say which characters a family is for.
      const isFamily = depth <= 2 && (/^[\s,]*$/.test(before) || /(?:^|[\s,])name\s*:\s*$/.test(before));
      const isPart = /^\s*\+/.test(list.slice(index + token.length, index + token.length + 80));
      if (isFamily && !isPart && string !== "") families.push(string.replace(/\\(["\\])/g, "$1"));
      before = "";
    } else if (token === "(") {
      depth++;
      // What is in the parentheses of a call is not in the list.
      before = /[\p{L}\p{N}_-]\s*$/u.test(before) ? "call" : "";
    } else if (token === ")") {
      depth--;
      before = "";
    } else {
      before = token;
      continue;
    }
    if (depth <= 0) break;
  }
  return families;
}

/** Spaces, controls and what is shown as nothing. */
const INVISIBLE = /[\p{Cc}\p{Z}\p{Default_Ignorable_Code_Point}]/u;
const FIRST_BEYOND_ASCII = 0x80;
/** Fonts without it show a hyphen. */
const NON_BREAKING_HYPHEN = 0x2011;

function missingCharacters({ typst, shown }: DocumentTexts, sets: readonly (CodePoints | null)[]): string[] {
  const codePoints = new Set<number>();
  for (const text of [...typst.map(withoutTypstEscapes), ...shown]) addCodePoints(text, codePoints);
  const has = (codePoint: number) => sets.some((set) => set !== null && hasCodePoint(set, codePoint));
  const isMissing = (codePoint: number) => {
    if (codePoint === NON_BREAKING_HYPHEN || has(codePoint)) return false;
    const character = String.fromCodePoint(codePoint);
    if (INVISIBLE.test(character)) return false;
    // A letter with its accent is made of both where no font has it as one.
    const parts = [...character.normalize("NFD")];
    return parts.length === 1 || parts.some((part) => !has(part.codePointAt(0) ?? 0));
  };
  return [...codePoints]
    .filter(isMissing)
    .sort((left, right) => left - right)
    .map((codePoint) => String.fromCodePoint(codePoint));
}

/** Adds those beyond ASCII: a font without ASCII is none for text. */
function addCodePoints(text: string, to: Set<number>): void {
  // A letter that is followed by its accent is shown as one where a font has it as one.
  const composed = /[^\0-\x7f]/.test(text) ? text.normalize("NFC") : "";
  for (let index = 0; index < composed.length; index++) {
    if (composed.charCodeAt(index) < FIRST_BEYOND_ASCII) continue;
    const codePoint = composed.codePointAt(index) ?? 0;
    to.add(codePoint);
    if (codePoint > 0xffff) index++;
  }
}

function withoutTypstEscapes(text: string): string {
  return text.replace(/\\u\{([0-9a-f]{1,6})\}/gi, (all, hex: string) => {
    const codePoint = Number.parseInt(hex, 16);
    return codePoint > 0x10ffff ? all : String.fromCodePoint(codePoint);
  });
}
