/** What is wrong with the text of a finished PDF because a font is missing, in sentences: the file itself shows it. */
import { isShaped, nameOfScript, type Script, scriptOf } from "../../../typst/fonts/scripts.ts";
import { TYPST_FONTS } from "../../../typst/fonts/typst-fonts.ts";
import { firstInWords } from "../size-in-words.ts";

export interface DocumentFont {
  /** Its PostScript name. */
  readonly name: string;
  readonly characters: ReadonlySet<string>;
}

export interface DocumentFonts {
  readonly fonts: readonly DocumentFont[];
  /** How many glyphs are empty boxes. */
  readonly boxes: number;
  /** Of the characters that these stand for, those that the file tells: not the first of each font. */
  readonly boxedCharacters: ReadonlySet<string>;
}

const PRIVATE_USE = /\p{Co}/u;

export const FONT_REMEDY =
  "Add a font with such characters to the request, a subset of one if it is large, or ask the operator for one (npm run fonts -- add noto).";
const ICON_REMEDY =
  "Characters for private use (U+E000 and the like) are icons of one font, such as Font Awesome: add that font to the request, and name it in text(font: …).";
const MAX_NAMED = 10;

/** What to do where no font has some characters. @param characters empty if they are not known */
export function remedyFor(characters: Iterable<string>): string {
  const all = [...characters];
  if (all.length === 0) return `${FONT_REMEDY} An icon, as of Font Awesome, needs its own font.`;
  const icons = all.filter((character) => PRIVATE_USE.test(character));
  if (icons.length === 0) return FONT_REMEDY;
  return icons.length === all.length ? ICON_REMEDY : `${ICON_REMEDY} ${FONT_REMEDY}`;
}

/** @param named the families that the templates name, in lower case: what they ask for is what they want */
export function describeDocumentFonts(document: DocumentFonts, named: ReadonlySet<string>): string[] {
  const misplaced = findMisplacedScripts(document, named).map(describeMisplaced);
  const sentences = [...describeStrayIcons(document), ...misplaced];
  return document.boxes === 0 ? sentences : [describeBoxes(document), ...sentences];
}

export interface MisplacedScripts {
  readonly scripts: readonly Script[];
  /** The font that they are in. */
  readonly family: string;
  readonly purpose: string;
}

/** Scripts whose letters join or move, in a font that is none for them. */
export function findMisplacedScripts(document: DocumentFonts, named: ReadonlySet<string>): MisplacedScripts[] {
  return TYPST_FONTS.flatMap(({ postScriptName, family, purpose }) => {
    if (purpose === "text" || named.has(family.toLowerCase())) return [];
    const fonts = document.fonts.filter(({ name }) => postScriptName.test(name));
    const scripts = shapedScripts(fonts.flatMap(({ characters }) => [...characters]));
    return scripts.length === 0 ? [] : [{ scripts, family, purpose }];
  });
}

export function describeMisplaced({ scripts, family, purpose }: MisplacedScripts): string {
  return `No font for text has the letters of ${namesOfScripts(scripts)}, so Typst sets them in ${family}, a font for ${purpose}: they do not join, move and merge as they should. ${FONT_REMEDY}`;
}

/**
 * Characters for private use that are shown in a font of Typst: such a font has signs of its own for hundreds of them, so an
 * icon whose font is missing comes out as a letter.
 */
export function describeStrayIcons({ fonts }: DocumentFonts): string[] {
  return TYPST_FONTS.flatMap(({ postScriptName, family }) => {
    const shown = fonts.filter(({ name }) => postScriptName.test(name)).flatMap(({ characters }) => [...characters]);
    const icons = new Set(shown.filter((character) => PRIVATE_USE.test(character)));
    if (icons.size === 0) return [];
    return [
      `No icon font has ${namesOfCharacters(icons)}, so Typst draws other signs of ${family} instead. ${ICON_REMEDY}`,
    ];
  });
}

function describeBoxes({ boxes, boxedCharacters }: DocumentFonts): string {
  if (boxes === 1) {
    const which = boxedCharacters.size === 0 ? "One character" : `The character ${namesOfCharacters(boxedCharacters)}`;
    return `${which} of the document is an empty box, because no font has it. ${remedyFor(boxedCharacters)}`;
  }
  const known = boxedCharacters.size === 0 ? "" : `, among them ${namesOfCharacters(boxedCharacters)}`;
  return `${boxes} characters of the document are empty boxes${known}, because no font has them. ${remedyFor(boxedCharacters)}`;
}

function shapedScripts(characters: readonly string[]): Script[] {
  return [...new Set(characters.map(scriptOf))].filter((script) => script !== null).filter(isShaped);
}

export function namesOfScripts(scripts: readonly Script[]): string {
  return new Intl.ListFormat("en", { type: "conjunction" }).format(scripts.map(nameOfScript));
}

/** The first of them. */
export function namesOfCharacters(characters: ReadonlySet<string>): string {
  return firstInWords(Array.from(characters, nameOfCharacter), MAX_NAMED);
}

/** The character and its code point: many of them cannot be seen, least of all where their font is missing. */
function nameOfCharacter(character: string): string {
  const codePoint = (character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0");
  return `${/\p{M}/u.test(character) ? `◌${character}` : character} (U+${codePoint})`;
}
