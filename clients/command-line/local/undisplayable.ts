/** The characters that Typst could not display: it reports each text with one separately. */
import { namesOfCharacters, remedyFor } from "../../document/fonts/font-findings.ts";

/** Of text in an SVG, Typst names no font. */
const UNDISPLAYABLE = /^(error: (?:\S+ error: )?)the text `"(.*)"` could not be displayed with (?:a )?font/u;
const PLACE = /^\s*┌─ (.+:\d+):\d+$/m;
/** Of a longer message, the beginning says enough. */
const MAX_MESSAGE_LENGTH = 10_000;

export interface UndisplayableText {
  readonly characters: ReadonlySet<string>;
  /** File and line of the first of them; null if Typst names none. */
  readonly place: string | null;
}

/** @returns Typst's report with one error in place of all that are about such texts, and their characters */
export function joinUndisplayable(report: string): { text: string; undisplayable: UndisplayableText | null } {
  const characters = new Set<string>();
  const blocks: string[] = [];
  let first = -1;
  let count = 0;
  for (const block of report.split(/\n\n(?=error: |warning: )/)) {
    const [, , text] = UNDISPLAYABLE.exec(block.slice(0, MAX_MESSAGE_LENGTH)) ?? [];
    if (text === undefined) {
      blocks.push(block);
      continue;
    }
    count++;
    if (first === -1) first = blocks.push(block) - 1;
    const plain = text.replace(/\\u\{([0-9a-f]+)\}/g, (_, hex: string) => String.fromCodePoint(Number(`0x${hex}`)));
    for (const character of plain) characters.add(character);
  }
  const block = blocks[first];
  if (block === undefined) return { text: report, undisplayable: null };
  const [, before = ""] = UNDISPLAYABLE.exec(block) ?? [];
  const [, ...lines] = block.split("\n").filter((line) => !/^\s*= hint: /.test(line));
  const times = count === 1 ? "" : `, in ${count} texts; the first`;
  const head = `${before}no font has ${namesOfCharacters(characters)}${times}`;
  blocks[first] = [head, ...lines, `  = hint: ${remedyFor(characters)}`].join("\n");
  return { text: blocks.join("\n\n"), undisplayable: { characters, place: PLACE.exec(block)?.[1] ?? null } };
}
