/** What is wrong with the text of a finished PDF for want of a font, in sentences. The file itself has told it. */
import { isShaped, nameOfScript, type Script, scriptOf } from "../../../rules/fonts/scripts.ts";
import type { DocumentFonts } from "./document-fonts.ts";

/** Fonts for formulas and for code that Typst itself brings, by the names in a PDF and in a source. */
const OWN_SPECIAL_FONTS = [
  { pattern: /^NewCMMath-/, family: "New Computer Modern Math", purpose: "formulas" },
  { pattern: /^DejaVuSansMono/, family: "DejaVu Sans Mono", purpose: "code" },
] as const;

const FONT_REMEDY =
  "Add a font that has them to the request, a subset of one if it is large, or ask the operator for one (npm run fonts -- add noto).";
const MAX_NAMED = 10;

/** @param named the families that the templates name, in lower case: what they ask for is what they want */
export function describeDocumentFonts(document: DocumentFonts, named: ReadonlySet<string>): string[] {
  const sentences = OWN_SPECIAL_FONTS.flatMap(({ pattern, family, purpose }) => {
    if (named.has(family.toLowerCase())) return [];
    const fonts = document.fonts.filter(({ name }) => pattern.test(name));
    const scripts = shapedScripts(fonts.flatMap(({ characters }) => [...characters]));
    if (scripts.length === 0) return [];
    return [
      `No font for text has the letters of ${listInWords(scripts.map(nameOfScript))}, so Typst sets them in ${family}, a font for ${purpose}: they do not join, move and merge as they should. ${FONT_REMEDY}`,
    ];
  });
  if (document.boxes === 0) return sentences;
  return [describeBoxes(document), ...sentences];
}

function describeBoxes({ boxes, boxedCharacters }: DocumentFonts): string {
  const what =
    boxes === 1
      ? "One character of the document is an empty box"
      : `${boxes} characters of the document are empty boxes`;
  const known = [...boxedCharacters].slice(0, MAX_NAMED).map(nameOfCharacter).join(", ");
  return `${what}${known === "" ? "" : `, among them ${known}`}, because no font has them. ${FONT_REMEDY}`;
}

function shapedScripts(characters: readonly string[]): Script[] {
  return [...new Set(characters.map(scriptOf))].filter((script) => script !== null).filter(isShaped);
}

function listInWords(names: readonly string[]): string {
  return new Intl.ListFormat("en", { type: "conjunction" }).format(names);
}

/** The character and its code point: many of them cannot be seen, least of all where their font is missing. */
function nameOfCharacter(character: string): string {
  const codePoint = (character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0");
  return `${/\p{M}/u.test(character) ? `◌${character}` : character} (U+${codePoint})`;
}
