/**
 * Which font families a document asks for that neither the request nor the service has. Typst replaces a missing
 * family, and the service does not pass its warnings on.
 *
 * Documents are not compiled here, so this goes by their text: families that a template puts together while it is
 * compiled are not seen. The text may be anybody's: each file is read a few times, whatever it says.
 */
import type { FontFamily } from "../../protocol/capabilities.ts";
import { isFont } from "../../rules/font-names.ts";
import { type FontFace, fontFaces } from "./font-file.ts";
import { withoutComments } from "./typst-text.ts";

export interface DocumentParts {
  readonly source: string;
  readonly files: readonly { readonly key: string; readonly bytes: Uint8Array }[];
}

export interface WantedFonts {
  /**
   * The families that it asks for and does not bring, as it spells them. Each name of a list of alternatives counts, as
   * in Typst's own warnings.
   */
  readonly families: readonly string[];
  /** The family of its headings and strong text, if it brings that without a bold font; null otherwise. */
  readonly withoutBold: string | null;
}

export function findWantedFonts(document: DocumentParts): WantedFonts {
  const faces = document.files.filter(({ key }) => isFont(key)).flatMap(({ bytes }) => fontFaces(bytes));
  const texts = typstTexts(document);
  const requested = requestedFamilies(texts);
  return {
    families: familiesBeyond(requested, faces),
    withoutBold: familyWithoutBold(texts, requested, faces),
  };
}

/** Those of the wanted families that the service does not have. @param fonts from its capabilities */
export function missingFamilies({ families }: WantedFonts, fonts: readonly FontFamily[]): string[] {
  return familiesBeyond(families, fonts);
}

function familiesBeyond(wanted: readonly string[], available: readonly { readonly family: string }[]): string[] {
  const known = new Set(available.map(({ family }) => family.toLowerCase()));
  return wanted.filter((family) => !known.has(family.toLowerCase()));
}

/** More would fill the screen: a template of anybody may name thousands. */
const MAX_NAMED = 10;

export function describeMissing(families: readonly string[]): string[] {
  const more = families.length - MAX_NAMED;
  return [
    ...families
      .slice(0, MAX_NAMED)
      .map(
        (family) => `The service has no font family "${family}", and the request brings none: Typst uses another font.`,
      ),
    ...(more > 0 ? [`It lacks ${more} more ${more === 1 ? "family" : "families"} that the templates name.`] : []),
  ];
}

/** A note on the family without a bold font, if the service has it neither. */
export function describeMissingBold({ withoutBold }: WantedFonts, fonts: readonly FontFamily[]): string[] {
  if (withoutBold === null || familiesBeyond([withoutBold], fonts).length === 0) return [];
  return [
    `The request brings no bold font of the family "${withoutBold}": headings and *strong* text will not be bold. Add the file of its bold font.`,
  ];
}

/** A heading, or strong text, which Typst sets in bold. */
const BOLD_TEXT = /^=+ +\S|(?<![\w*])\*[^\s*][^*\n]{0,200}\*(?![\w*])|#(?:heading|strong)\b/m;
/** What may set them otherwise: a rule for them together with a weight, or a template from a package. */
const SHOW_RULE = /\bshow\s+(?:heading|strong)\b/;
const OTHER_WEIGHT = /\bweight\s*:(?!\s*(?:"(?:semi|extra)?bold"|"black"|[6-9]00))/;
const PACKAGE = /"@/;

/**
 * The only family that a document asks for, in a rule for its text, if it brings that without a bold font. Where there
 * are several families, the text does not say which one a heading has.
 */
function familyWithoutBold(
  texts: readonly string[],
  requested: readonly string[],
  faces: readonly FontFace[],
): string | null {
  const [family, ...others] = requested;
  if (family === undefined || others.length > 0) return null;
  const own = faces.filter((face) => face.family.toLowerCase() === family.toLowerCase());
  if (own.length === 0 || own.some(({ mayBeBold }) => mayBeBold)) return null;
  const has = (pattern: RegExp) => texts.some((text) => pattern.test(text));
  if (has(PACKAGE) || (has(SHOW_RULE) && has(OTHER_WEIGHT))) return null;
  return has(/\bset\s+text\s*\([^()]*\bfont\s*:/) && has(BOLD_TEXT) ? family : null;
}

const TYPST_FILE = /\.typ$/i;

function typstTexts({ source, files }: DocumentParts): string[] {
  const decoder = new TextDecoder("utf-8");
  return [source, ...files.filter(({ key }) => TYPST_FILE.test(key)).map(({ bytes }) => decoder.decode(bytes))].map(
    withoutComments,
  );
}

/** `font: name`, or `font: theme.name`. No name is longer. */
const REFERENCE = /(?<![\w-])font\s*:\s*(?:[\w-]{1,200}\.){0,20}([\w-]{1,200})\s*[,)\]]/g;
/** What may be the parameters of a function: the innermost parentheses before an equals sign. */
const PARAMETERS = /\(([^()]*)\)\s*=/g;

/**
 * The families that the texts ask for: `font: "A"`, `font: ("A", "B")`, `font: (name: "A", covers: …)`, and `font:
 * name` where something gives the name such a value: `let name = "A"`, or an argument or a member `name: "A"`.
 */
function requestedFamilies(sources: readonly string[]): string[] {
  const texts = sources.map((text) => ({ text, references: referencesIn(text) }));
  // A name that speaks of fonts means the same in all files, any other only where it is defined.
  const speaking = new Set(texts.flatMap(({ references }) => [...references]).filter(speaksOfFonts));
  const direct = new Set<string>();
  const named = new Set<string>();
  for (const { text, references } of texts) {
    const ordinary = withoutParameters(text, references);
    collectFamilies(text, (name, isLet) => {
      if (name === "font") return direct;
      return speaking.has(name) || (isLet && ordinary.has(name)) ? named : null;
    });
  }
  return [...new Set([...direct, ...named])];
}

function speaksOfFonts(name: string): boolean {
  return /font|family|face/i.test(name);
}

function referencesIn(text: string): Set<string> {
  return new Set([...text.matchAll(REFERENCE)].map(([, name = ""]) => name));
}

/** A parameter may have the name of anything. */
function withoutParameters(text: string, names: ReadonlySet<string>): Set<string> {
  const left = new Set([...names].filter((name) => !speaksOfFonts(name)));
  if (left.size === 0) return left;
  for (const [, inside = ""] of text.matchAll(PARAMETERS)) {
    for (const [name] of inside.matchAll(/[\w-]+/g)) left.delete(name);
  }
  return left;
}

/** Where the families of a value go; null if the value is of no interest. */
type TargetOf = (name: string, isLet: boolean) => Set<string> | null;

interface OpenList {
  readonly start: number;
  /** The number of parentheses around it. */
  readonly depth: number;
  readonly target: Set<string>;
}

/** No list of fonts is longer; a parenthesis that is never closed ends here. */
const MAX_LIST_LENGTH = 4096;
const DELIMITER = /["()]/g;
const STRING = new RegExp(`"((?:[^"\\\\\\n]|\\\\.){0,${MAX_LIST_LENGTH}})("?)`, "y");
const PLUS = /\s*\+/y;

/** Finds the strings, and the lists in parentheses, that have a name before them. Lists may be in lists. */
function collectFamilies(text: string, targetOf: TargetOf): void {
  /** Outermost first. */
  const open: OpenList[] = [];
  let depth = 0;
  /** Where the text between two delimiters begins. */
  let gap = 0;
  let isArgument = false;
  const delimiters = new RegExp(DELIMITER);
  for (let found = delimiters.exec(text); found !== null; found = delimiters.exec(text)) {
    const at = found.index;
    while (open[0] !== undefined && at - open[0].start > MAX_LIST_LENGTH) open.shift();
    if (open.length === 0) depth = 0;
    const own = found[0] === ")" ? null : valueTarget(text, at, targetOf);
    if (found[0] === "(") {
      if (own !== null) open.push({ start: at, depth, target: own });
      depth++;
      // What is in the parentheses of a call is not in the list.
      isArgument = own === null && isCall(text, at);
    } else if (found[0] === ")") {
      depth--;
      while (open.length > 0 && (open.at(-1)?.depth ?? 0) >= depth) open.pop();
      isArgument = false;
    } else if (own !== null || open.length > 0) {
      const { value, end } = stringAt(text, at);
      const isFamily = value !== "" && !isFollowedByPlus(text, end);
      if (isFamily) own?.add(value);
      // `covers: "latin-in-cjk"` and `regex("…")` say which characters a family is for.
      if (isFamily && !isArgument && isListed(text.slice(gap, at))) {
        for (const list of open.slice(-2)) if (depth - list.depth <= 2) list.target.add(value);
      }
      isArgument = false;
      delimiters.lastIndex = end;
    }
    gap = delimiters.lastIndex;
  }
}

/** Whether what is before a string in a list makes it a family: nothing, or `name:`. */
function isListed(before: string): boolean {
  return /^[\s,]*$/.test(before) || /(?:^|[\s,])name\s*:\s*$/.test(before);
}

/** The string that begins at a position, and where it ends; empty if it is not closed. */
function stringAt(text: string, at: number): { readonly value: string; readonly end: number } {
  STRING.lastIndex = at;
  const [whole = '"', content = "", close = ""] = STRING.exec(text) ?? [];
  return { value: close === "" ? "" : content.replace(/\\(["\\])/g, "$1"), end: at + whole.length };
}

function isFollowedByPlus(text: string, at: number): boolean {
  PLUS.lastIndex = at;
  return PLUS.test(text);
}

/** By the name before a value: `name: …`, `name = …`, `let name = …`. */
function valueTarget(text: string, at: number, targetOf: TargetOf): Set<string> | null {
  const sign = before(text, at, SPACES);
  const character = text[sign - 1];
  if (character !== ":" && character !== "=") return null;
  const end = before(text, sign - 1, SPACES);
  const start = before(text, end, NAME_CHARACTERS);
  if (start === end) return null;
  const word = before(text, start, SPACES);
  const isLet = character === "=" && word < start && /(?:^|\W)let$/.test(text.slice(Math.max(0, word - 4), word));
  return targetOf(text.slice(start, end), isLet);
}

function isCall(text: string, at: number): boolean {
  return /[\p{L}\p{N}_-]/u.test(text[before(text, at, SPACES) - 1] ?? "");
}

/** Where the run of such characters before a position begins. */
function before(text: string, at: number, characters: ReadonlySet<number>): number {
  let start = at;
  while (start > 0 && characters.has(text.charCodeAt(start - 1))) start--;
  return start;
}

const SPACES = codesOf(" \t\n\v\f\r\u00a0\ufeff\u2028\u2029");
const NAME_CHARACTERS = codesOf("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-");

function codesOf(characters: string): ReadonlySet<number> {
  return new Set(Array.from(characters, (character) => character.charCodeAt(0)));
}
