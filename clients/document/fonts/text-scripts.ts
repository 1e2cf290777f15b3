/**
 * Which scripts the texts of a request have and no font covers, by what the service says of its fonts and by the fonts of
 * the request: before it is rendered, or where the result, an image, tells nothing of its fonts.
 */
import { hasCharacter } from "../../../typst/fonts/characters.ts";
import { fontFaces } from "../../../typst/fonts/font-file.ts";
import { isFont } from "../../../typst/fonts/font-names.ts";
import { charactersBeyondTypst, type Script, scriptOf } from "../../../typst/fonts/scripts.ts";
import { isShownText, isTypst } from "../../template/file-kinds.ts";
import { parseTemplate, withoutComments } from "../../template/syntax-tree.ts";
import { FONT_REMEDY, namesOfScripts } from "./font-findings.ts";
import type { DocumentParts } from "./missing-fonts.ts";

export interface DocumentText extends DocumentParts {
  /** JSON; empty without data. */
  readonly data: string;
}

/** The texts of a request that may come into its document. */
function textsOf({ source, files, data }: DocumentText): string[] {
  const decoder = new TextDecoder();
  const others = files
    .filter(({ key }) => isShownText(key))
    .map(({ key, bytes }) => {
      const text = decoder.decode(bytes);
      return isTypst(key) ? withoutComments(parseTemplate(text)) : text;
    });
  return [withoutComments(parseTemplate(source)), ...others, data];
}

/** @param covered by the service, as it says; empty if it does not */
export function describeUncoveredScripts(document: DocumentText, covered: readonly string[] = []): string[] {
  if (covered.length === 0) return [];
  const faces = document.files.filter(({ key }) => isFont(key)).flatMap(({ bytes }) => fontFaces(bytes));
  const isBrought = (codePoint: number) => faces.some(({ characters }) => hasCharacter(characters, codePoint));
  const scripts = new Set<Script>();
  for (const codePoint of charactersBeyondTypst(textsOf(document))) {
    const script = scriptOf(String.fromCodePoint(codePoint));
    if (script !== null && !covered.includes(script) && !isBrought(codePoint)) scripts.add(script);
  }
  if (scripts.size === 0) return [];
  return [
    `The templates or their data have text in ${namesOfScripts([...scripts])}, for which the service has no font: it comes out as empty boxes, or wrong. ${FONT_REMEDY}`,
  ];
}
