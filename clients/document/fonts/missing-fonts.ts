/**
 * Which font families a document asks for that neither the request nor the service has, and which bold or italic font is
 * missing. Typst replaces a missing family, makes no font bold or italic, and the service does not pass its warnings on.
 *
 * This goes by the text: it sees that a template may ask for further families, which it computes or has from a package,
 * and not which. The text may be anybody's, so each file is read a few times, whatever it says.
 */
import type { FontFamily } from "../../../protocol/capabilities.ts";
import { type FontFace, type FontVariant, fontFaces } from "../../../typst/fonts/font-file.ts";
import { isFont } from "../../../typst/fonts/font-names.ts";
import { FAMILIES_OF_TYPST } from "../../../typst/fonts/typst-fonts.ts";
import { isTypst } from "../../template/file-kinds.ts";
import { requestedFamilies, type StyledText, styledTextIn } from "../../template/font-families.ts";
import { packagesIn } from "../../template/reads.ts";
import { parseTemplate, type Template } from "../../template/syntax-tree.ts";
import { firstSentences } from "../size-in-words.ts";
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
  const templates = templatesOf(document);
  const { names: requested, areAll } = requestedFamilies(templates);
  return {
    families: excludeFamilies(requested, faces),
    named: lowerCase(requested),
    mayNameOthers: !areAll || namesPackages(templates),
    brought: lowerCase(faces.map(({ family }) => family)),
    offered: [...new Set(faces.map(({ family }) => family))],
    incomplete: findIncompleteFamily(templates, requested, faces),
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
  const describe = (family: string) =>
    `The service has no font family "${family}", and the request brings none: Typst uses another font.${suggest(family)}`;
  const others = (count: number) => `It lacks ${count} more of the font families that the templates name.`;
  const first = firstSentences(missing, MAX_NAMED, describe, others);
  return missing.length === 0 ? [] : [...first, ...describeWebFonts(webFonts)];
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

const STYLES = {
  bold: {
    has: ({ weight }: FontVariant) => weight.max >= MIN_BOLD_WEIGHT,
    effect: "headings and *strong* text will not be bold",
  },
  italic: {
    has: ({ style }: FontVariant) => style !== "normal",
    effect: "_emphasised_ text stays upright",
  },
} as const satisfies Record<keyof StyledText["lacks"], object>;
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

/** Null for several families: the text does not say which of them a heading has. A package may set them otherwise. */
function findIncompleteFamily(
  templates: readonly Template[],
  [family, ...others]: readonly string[],
  faces: readonly FontFace[],
): IncompleteFamily | null {
  if (family === undefined || others.length > 0 || FAMILIES_OF_TYPST.has(family.toLowerCase())) return null;
  const own = faces.filter((face) => face.family.toLowerCase() === family.toLowerCase());
  const { hasFont, lacks } = styledTextIn(templates);
  // What Typst knows by a list has its styles from there.
  if (namesPackages(templates) || !hasFont || own.some(({ variants }) => variants.length === 0)) return null;
  const lacking = (["bold", "italic"] as const).filter((name) => {
    return lacks[name] && !own.some(({ variants }) => variants.some(STYLES[name].has));
  });
  return lacking.length === 0 ? null : { family, isBrought: own.length > 0, lacking };
}

function namesPackages(templates: readonly Template[]): boolean {
  return templates.some((template) => packagesIn(template).length > 0);
}

function templatesOf({ source, files }: DocumentParts): Template[] {
  const decoder = new TextDecoder("utf-8");
  const others = files.filter(({ key }) => isTypst(key)).map(({ bytes }) => decoder.decode(bytes));
  return [source, ...others].map(parseTemplate);
}

/** The families that texts name, in lower case, and whether these are all that they can ask for. */
export function readFamilyNames(document: DocumentParts): {
  readonly named: ReadonlySet<string>;
  readonly areAll: boolean;
} {
  const { names, areAll } = requestedFamilies(templatesOf(document));
  const ofImages = readSvgs(document.files).flatMap(({ families }) => families.flat());
  return { named: lowerCase([...names, ...ofImages]), areAll };
}
