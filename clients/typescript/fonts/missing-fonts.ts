/**
 * Which font families a document asks for that neither the request nor the service has, and which bold or italic font is
 * missing. Typst replaces a missing family, makes no font bold or italic, and the service does not pass its warnings on.
 *
 * This goes by the text: it sees that a template may ask for further families, which it computes or has from a package,
 * and not which. The text may be anybody's, so each file is read a few times, whatever it says.
 */
import type { FontFamily } from "../../../protocol/capabilities.ts";
import { type FontFace, type FontVariant, fontFaces } from "../../../rules/fonts/font-file.ts";
import { isFont } from "../../../rules/fonts/font-names.ts";
import { FAMILIES_OF_TYPST } from "../../../rules/fonts/typst-fonts.ts";
import { removeCommentsAndRawText } from "../template-text/typst-text.ts";
import { explainWebFont } from "../unusable-files.ts";
import { describeEqualFaces, type EqualFaces, findEqualFaces } from "./equal-faces.ts";
import { describeForeignObjects, describeSvgFamilies, readSvgs, type SvgImage } from "./svg-fonts.ts";

export interface DocumentParts {
  readonly source: string;
  readonly files: readonly { readonly key: string; readonly bytes: Uint8Array }[];
}

export interface WantedFonts {
  /**
   * The families that a document asks for and does not bring, as it spells them. Each name of a list of alternatives
   * counts, as in Typst's own warnings.
   */
  readonly families: readonly string[];
  /** All that it asks for, whoever has them, in lower case. */
  readonly named: ReadonlySet<string>;
  /** Whether it may ask for others that its text does not show. */
  readonly mayNameOthers: boolean;
  /** What it brings, in lower case. */
  readonly brought: ReadonlySet<string>;
  /** As their fonts spell them: the families of the request, and others that the caller could send. */
  readonly offered: readonly string[];
  /** The family of all its text, if it has bold or italic text for which it brings no font. */
  readonly incomplete: IncompleteFamily | null;
  /** Fonts of the request that Typst does not tell apart. */
  readonly equalFaces: readonly EqualFaces[];
  readonly images: readonly SvgImage[];
  /** Keys of fonts for web pages that the caller has and that may be meant. */
  readonly webFonts: readonly string[];
}

export function findWantedFonts(document: DocumentParts): WantedFonts {
  const faces = document.files.filter(({ key }) => isFont(key)).flatMap(({ bytes }) => fontFaces(bytes));
  const texts = typstTexts(document);
  const requested = listRequestedFamilies(texts);
  return {
    families: excludeFamilies(requested, faces),
    named: lowerCase(requested),
    mayNameOthers: texts.some((text) => PACKAGE.test(text) || computesFamilies(text)),
    brought: lowerCase(faces.map(({ family }) => family)),
    offered: [...new Set(faces.map(({ family }) => family))],
    incomplete: findIncompleteFamily(texts, requested, faces),
    equalFaces: findEqualFaces(document.files),
    images: readSvgs(document.files),
    webFonts: [],
  };
}

function excludeFamilies(wanted: readonly string[], available: readonly { readonly family: string }[]): string[] {
  const known = lowerCase(available.map(({ family }) => family));
  return wanted.filter((family) => !known.has(family.toLowerCase()));
}

function lowerCase(families: readonly string[]): Set<string> {
  return new Set(families.map((family) => family.toLowerCase()));
}

const FONT_ARGUMENT = /(?<![\w-])font\s*:/g;
/** Names in quotes, one or a list of them, and nothing that could change them. */
const LITERAL_FONTS =
  /(?<![\w-])font\s*:\s*(?:"[^"\\\n]{0,500}"|\((?:\s*"[^"\\\n]{0,500}"\s*,?){0,100}\s*\))\s*(?:[,)\]}\n]|$)/g;
/** Arguments from elsewhere, and code from a string. */
const OTHER_ARGUMENTS = /\btext(?:\.with)?\s*\([^()"]{0,500}\.\.|\beval\s*\(/;

function computesFamilies(text: string): boolean {
  const count = (pattern: RegExp) => Array.from(text.matchAll(pattern)).length;
  return count(FONT_ARGUMENT) > count(LITERAL_FONTS) || OTHER_ARGUMENTS.test(text);
}

/** More would fill the screen: a template of anybody may name thousands. */
const MAX_NAMED = 10;

/** Says which family may have been meant by a missing one, as the end of a sentence on it; empty if none. */
export type SuggestFamily = (missing: string) => string;

/**
 * @param families what a document asks for, by its text or as the compiler tells it
 * @param fonts of the service, from its capabilities
 */
export function describeMissingFamilies(
  families: readonly string[],
  { brought, webFonts }: WantedFonts,
  fonts: readonly FontFamily[],
  suggest: SuggestFamily,
): string[] {
  const missing = excludeFamilies(families, fonts).filter((family) => !brought.has(family.toLowerCase()));
  const sentences = missing
    .slice(0, MAX_NAMED)
    .map(
      (family) =>
        `The service has no font family "${family}", and the request brings none: Typst uses another font.${suggest(family)}`,
    );
  const more = missing.length - MAX_NAMED;
  if (more > 0) sentences.push(`It lacks ${more} more ${more === 1 ? "family" : "families"} that the templates name.`);
  return missing.length === 0 ? [] : [...sentences, ...describeWebFonts(webFonts)];
}

/** What to do about fonts of which one may have a missing family. */
export function describeWebFonts(keys: readonly string[]): string[] {
  return keys.slice(0, MAX_NAMED).map((key) => `${key} ${explainWebFont(key)}`);
}

/** @param fonts of the service; null if it does not say which it has */
export function describeImages({ images, brought }: WantedFonts, fonts: readonly FontFamily[] | null): string[] {
  const foreign = describeForeignObjects(images);
  if (fonts === null) return foreign;
  const known = new Set([...brought, ...lowerCase(fonts.map(({ family }) => family))]);
  return [...foreign, ...describeSvgFamilies(images, known, "the service")];
}

/** What else a caller should know of the fonts. @param fonts of the service; null if it does not say which it has */
export function describeFontNotes(wanted: WantedFonts, fonts: readonly FontFamily[] | null): string[] {
  return [...describeMissingStyles(wanted, fonts ?? []), ...describeEqualFaces(wanted.equalFaces)];
}

/** A heading, or strong text, which Typst sets in bold. */
const BOLD_TEXT = /^=+ +\S|(?<![\w*])\*[^\s*][^*\n]{0,200}\*(?![\w*])|#(?:heading|strong)\b/m;
/** Emphasis. An underscore after a letter or a parenthesis may be an index. */
const ITALIC_TEXT =
  /(?<![\p{L}\p{N}_)\]$])_[\p{L}\p{N}"'“‘*#][^_\n]{0,200}_(?![\p{L}\p{N}_])|#emph\b|\bstyle\s*:\s*"italic"/u;
const STYLES = {
  bold: {
    text: BOLD_TEXT,
    /** A rule for them together with a weight may set them otherwise. */
    rule: /\bshow\s+(?:heading|strong)\b/,
    other: /\bweight\s*:(?!\s*(?:"(?:semi|extra)?bold"|"black"|[6-9]00))/,
    has: ({ weight }: FontVariant) => weight.max >= MIN_BOLD_WEIGHT,
    effect: "headings and *strong* text will not be bold",
  },
  italic: {
    text: ITALIC_TEXT,
    rule: /\bshow\s+emph\b/,
    other: /\bshow\b/,
    has: ({ style }: FontVariant) => style !== "normal",
    effect: "_emphasised_ text stays upright",
  },
} as const;
/** Semibold. */
const MIN_BOLD_WEIGHT = 600;

export interface IncompleteFamily {
  readonly family: string;
  readonly isBrought: boolean;
  readonly lacking: readonly (keyof typeof STYLES)[];
}

function describeMissingStyles({ incomplete }: WantedFonts, fonts: readonly FontFamily[]): string[] {
  if (incomplete === null) return [];
  const { family, isBrought, lacking } = incomplete;
  const there = fonts.find((one) => one.family.toLowerCase() === family.toLowerCase());
  if (there === undefined ? !isBrought : there.variants.length === 0) return [];
  return lacking
    .filter((name) => !there?.variants.some(STYLES[name].has))
    .map((name) => {
      const who = isBrought ? "The request brings" : "The service has";
      return `${who} no ${name} font of the family "${family}": ${STYLES[name].effect}. Add the file of its ${name} font.`;
    });
}

const TEXT_FONT = /\bset\s+text\s*\([^()]*\bfont\s*:/;
const PACKAGE = /"@/;

/** Null for several families: the text does not say which of them a heading has. A package may set them otherwise. */
function findIncompleteFamily(
  texts: readonly string[],
  [family, ...others]: readonly string[],
  faces: readonly FontFace[],
): IncompleteFamily | null {
  if (family === undefined || others.length > 0 || FAMILIES_OF_TYPST.has(family.toLowerCase())) return null;
  const own = faces.filter((face) => face.family.toLowerCase() === family.toLowerCase());
  const has = (pattern: RegExp) => texts.some((text) => pattern.test(text));
  // What Typst knows by a list has its styles from there.
  if (has(PACKAGE) || !has(TEXT_FONT) || own.some(({ variants }) => variants.length === 0)) return null;
  const lacking = (["bold", "italic"] as const).filter((name) => {
    const { text, rule, other, has: isOfStyle } = STYLES[name];
    if (!has(text) || (has(rule) && has(other))) return false;
    return !own.some(({ variants }) => variants.some(isOfStyle));
  });
  return lacking.length === 0 ? null : { family, isBrought: own.length > 0, lacking };
}

function typstTexts({ source, files }: DocumentParts): string[] {
  const decoder = new TextDecoder("utf-8");
  const others = files.filter(({ key }) => /\.typ$/i.test(key)).map(({ bytes }) => decoder.decode(bytes));
  return [source, ...others].map(removeCommentsAndRawText);
}

/** `font: name`, or `font: theme.name`. No name is longer. */
const REFERENCE = /(?<![\w-])font\s*:\s*(?:[\w-]{1,200}\.){0,20}([\w-]{1,200})\s*[,)\]]/g;
/** The innermost parentheses before an equals sign may be the parameters of a function. */
const PARAMETERS = /\(([^()]*)\)\s*=/g;
/** A string, which is passed over, or a name and a sign before a string or a list. */
const VALUE = /"(?:[^"\\\n]|\\.){0,500}"?|(?<![\w-])(let\s+)?([\w-]{1,200})\s*[:=]\s*(?=["(])/g;
/** No family is longer. */
const STRING = /"((?:[^"\\\n]|\\.){1,500})"(?!\s*\+)/y;

/** The families that texts name, in lower case, and whether these are all that they can ask for. */
export function readFamilyNames(document: DocumentParts): {
  readonly named: ReadonlySet<string>;
  readonly areAll: boolean;
} {
  const texts = typstTexts(document);
  const ofImages = readSvgs(document.files).flatMap(({ families }) => families.flat());
  return {
    named: lowerCase([...listRequestedFamilies(texts), ...ofImages]),
    areAll: !texts.some((text) => isGivenElsewhere(text, texts)),
  };
}

/** Whether a text asks for a family that nothing gives as a string in any of the texts: data, or a computation. */
function isGivenElsewhere(text: string, texts: readonly string[]): boolean {
  if (OTHER_ARGUMENTS.test(text)) return true;
  const literal = new Set(Array.from(text.matchAll(LITERAL_FONTS), ({ index }) => index));
  const references = new Map(Array.from(text.matchAll(REFERENCE), ({ index, 1: name = "" }) => [index, name]));
  return Array.from(text.matchAll(FONT_ARGUMENT)).some(({ index }) => {
    const name = references.get(index);
    if (literal.has(index) || name === "none" || name === "auto") return false;
    if (name === undefined) return !/^\w+\s*:\s*\(/.test(text.slice(index, index + 50));
    const given = new RegExp(`(?<![\\w-])${name}\\s*[:=]\\s*["(]`);
    return !texts.some((each) => given.test(each));
  });
}

/**
 * The families that the texts ask for: `font: "A"`, `font: ("A", "B")`, `font: (name: "A", covers: …)`, and `font:
 * name` where something gives the name such a value. A name that speaks of fonts may be given by an argument or a
 * member (`title-font: "A"`) in any file, any other only by `let` in the same file.
 */
function listRequestedFamilies(sources: readonly string[]): string[] {
  const texts = sources.map((text) => ({
    text,
    references: new Set([...text.matchAll(REFERENCE)].map(([, name = ""]) => name)),
  }));
  const isOfFonts = (name: string) => /font|family|face/i.test(name);
  const speaking = new Set(texts.flatMap(({ references }) => [...references]).filter(isOfFonts));
  const families = new Set<string>();
  for (const { text, references } of texts) {
    const parameters = parametersIn(text);
    const variables = new Set([...references].filter((name) => !parameters.has(name)));
    const value = new RegExp(VALUE);
    for (let match = value.exec(text); match !== null; match = value.exec(text)) {
      const [, isLet, name = ""] = match;
      const isFamily = name === "font" || speaking.has(name) || (isLet && variables.has(name));
      if (!isFamily) continue;
      const start = value.lastIndex;
      if (text[start] === "(") value.lastIndex = addListed(text, start, families);
      else addString(text, start, families);
    }
  }
  return [...families];
}

/** A parameter may have the name of anything: a variable of that name need not be a font. */
function parametersIn(text: string): Set<string> {
  return new Set([...text.matchAll(PARAMETERS)].flatMap(([, inside = ""]) => inside.match(/[\w-]+/g) ?? []));
}

function addString(text: string, at: number, families: Set<string>): void {
  STRING.lastIndex = at;
  const [, family] = STRING.exec(text) ?? [];
  if (family !== undefined) families.add(family.replace(/\\(["\\])/g, "$1"));
}

/** No list of fonts is longer; a parenthesis that is never closed ends here. */
const MAX_LIST_LENGTH = 4096;
const DELIMITER = /"(?:[^"\\\n]|\\.){0,500}"|[()]/g;

/** Adds the families of the list that begins at a position. @returns where it ends */
function addListed(text: string, start: number, families: Set<string>): number {
  const list = text.slice(start, start + MAX_LIST_LENGTH);
  let depth = 0;
  /** What is in the parentheses of a call is not in the list. */
  let callDepth = Number.POSITIVE_INFINITY;
  let end = 0;
  for (const { 0: found, index } of list.matchAll(DELIMITER)) {
    const before = list.slice(end, index);
    end = index + found.length;
    if (found === "(") {
      depth++;
      if (/[\p{L}\p{N}_-]\s*$/u.test(before)) callDepth = Math.min(callDepth, depth);
    } else if (found === ")") {
      if (depth === callDepth) callDepth = Number.POSITIVE_INFINITY;
      if (--depth === 0) break;
    } else if (depth < callDepth && /^[\s,]*$|[\s,]name\s*:\s*$|^name\s*:\s*$/.test(before)) {
      addString(text, start + index, families);
    }
  }
  return start + end;
}
