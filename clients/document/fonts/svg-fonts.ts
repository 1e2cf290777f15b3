/**
 * What SVG images ask for that Typst 0.15 does not show: foreignObject, which it does not draw, and families of text that
 * neither request nor service has. A file may be anybody's: it is read once, and no further than it is well-formed.
 */
import { SaxesParser } from "saxes";
import { firstInWords, firstSentences } from "../size-in-words.ts";

export interface SvgImage {
  readonly key: string;
  readonly hasForeignObject: boolean;
  /** Of text that is drawn: lists of alternatives, without the generic ones, which Typst passes over. */
  readonly families: readonly (readonly string[])[];
}

const MAX_NAMED = 10;
const MAX_FAMILY_LISTS = 100;
const MAX_LIST_LENGTH = 1000;
/** What entities stand for, in all: a small file may name a long one any number of times. */
const MAX_ENTITY_CHARACTERS = 1_000_000;

export function readSvgs(files: Iterable<{ readonly key: string; readonly bytes: Uint8Array }>): SvgImage[] {
  const decoder = new TextDecoder();
  return [...files]
    .filter(({ key }) => /\.svg$/i.test(key))
    .map(({ key, bytes }) => ({ key, ...readSvg(decoder.decode(bytes)) }));
}

export function describeForeignObjects(images: readonly SvgImage[]): string[] {
  const keys = images.filter(({ hasForeignObject }) => hasForeignObject).map(({ key }) => key);
  if (keys.length === 0) return [];
  return [
    `${firstInWords(keys, MAX_NAMED)}: Typst does not draw the text in foreignObject. Export it as PDF or PNG, or with plain text: "htmlLabels": false in Mermaid, no "Word Wrap" and "Formatted Text" in draw.io.`,
  ];
}

/** @param known the families of the request and of who renders it, in lower case */
export function describeSvgFamilies(
  images: readonly SvgImage[],
  known: ReadonlySet<string>,
  who: "the service" | "this machine",
): readonly string[] {
  const missing = images.flatMap(({ key, families }) =>
    families.filter((list) => !list.some((family) => known.has(family.toLowerCase()))).map((list) => ({ key, list })),
  );
  return firstSentences(
    missing,
    MAX_NAMED,
    ({ key, list }) => {
      const names = new Intl.ListFormat("en", { type: "disjunction" }).format(list.map((name) => `"${name}"`));
      return `${key} has text in ${names}, which neither ${who} nor the request has: Typst uses another font.`;
    },
    (count) => `Text in SVG images asks for ${count} more of the families that are missing.`,
  );
}

/** An element that is open. */
interface Element {
  readonly name: string;
  readonly families: readonly string[];
  /** Whether text in it is drawn. */
  readonly isText: boolean;
  readonly isForeign: boolean;
}

const OUTSIDE: Element = { name: "", families: [], isText: false, isForeign: false };
/** What a program for drawings, such as Illustrator, defines at the beginning of its files. */
const ENTITY = /<!ENTITY\s+([\w.-]+)\s+"([^"]*)"/g;

function readSvg(svg: string): Omit<SvgImage, "key"> {
  const open: Element[] = [];
  const lists = new Map<string, readonly string[]>();
  const styles: string[] = [];
  let hasText = false;
  let hasForeignObject = false;
  const current = () => open.at(-1) ?? OUTSIDE;
  const add = (list: readonly string[]) => {
    if (list.length > 0 && lists.size < MAX_FAMILY_LISTS) lists.set(list.join(",").toLowerCase(), list);
  };
  const addText = (text: string) => {
    const { name, families, isText } = current();
    if (text.trim() === "") return;
    if (name === "style") styles.push(text);
    if (!isText) return;
    hasText = true;
    add(families);
  };
  const parser = new SaxesParser();
  let entityCharacters = 0;
  const expand = (value: string) => {
    entityCharacters += value.length;
    if (entityCharacters > MAX_ENTITY_CHARACTERS) throw new RangeError("the entities stand for too much");
    return value;
  };
  parser.on("doctype", (declaration) => {
    for (const [, name = "", value = ""] of declaration.matchAll(ENTITY))
      Object.defineProperty(parser.ENTITIES, name, { get: () => expand(value), configurable: true });
  });
  parser.on("text", addText);
  parser.on("cdata", addText);
  parser.on("opentag", ({ name: qualified, attributes }) => {
    const name = qualified.slice(qualified.indexOf(":") + 1);
    const outer = current();
    const isForeign = outer.isForeign || name === "foreignObject";
    hasForeignObject ||= isForeign;
    const isText = !isForeign && (outer.isText || name === "text") && name !== "title" && name !== "desc";
    // A style comes before an attribute.
    const families = familiesInStyle(attributes.style ?? "") ?? familiesOf(attributes["font-family"] ?? "inherit");
    open.push({ name, families: families ?? outer.families, isText, isForeign });
  });
  parser.on("closetag", () => void open.pop());
  try {
    parser.write(svg).close();
  } catch {
    // The SVG is not well-formed, and Typst says where; or its entities stand for too much.
  }
  // Which elements a rule selects, nobody asks: a style that is written down is used.
  if (hasText) for (const list of styles.flatMap(familiesInStyleSheet)) add(list);
  return { hasForeignObject, families: [...lists.values()] };
}

/** @returns null if a declaration names none */
function familiesInStyle(style: string): readonly string[] | null {
  const lists = style.split(";").flatMap((declaration) => {
    const colon = declaration.indexOf(":");
    const property = declaration.slice(0, colon).trim().toLowerCase();
    const value = declaration.slice(colon + 1, colon + 1 + MAX_LIST_LENGTH);
    if (property === "font-family") return [familiesOf(value)];
    // What comes after the size: `bold 12px/1.2 Inter, serif`.
    return property === "font"
      ? [familiesOf(/(?<![\w.])\d[\w.%]*(?:\s*\/\s*[\w.%]+)?\s+([^\d\s].*)$/s.exec(value)?.[1] ?? "")]
      : [];
  });
  return lists.findLast((list) => list !== null) ?? null;
}

function familiesInStyleSheet(css: string): (readonly string[])[] {
  const rules = css.replace(/\/\*.*?(?:\*\/|$)/gs, "").split("}");
  return rules.flatMap((rule) => {
    const [selector = "", ...declarations] = rule.split("{");
    return selector.includes("@font-face") ? [] : [familiesInStyle(declarations.at(-1) ?? "") ?? []];
  });
}

/** Names for kinds of fonts, and words that stand for another value. */
const NO_FAMILY =
  /^(?:serif|sans-serif|monospace|cursive|fantasy|system-ui|ui-[a-z-]+|math|emoji|fangsong|inherit|initial|unset|revert|revert-layer|)$/i;

/** @returns null for what is inherited, or computed */
function familiesOf(list: string): readonly string[] | null {
  const value = list.slice(0, MAX_LIST_LENGTH).replace(/!\s*important\s*$/i, "");
  if (/[()]/.test(value) || /^\s*inherit\s*$/i.test(value)) return null;
  const names = value.split(",").map((name) =>
    name
      .trim()
      .replace(/^(["'])(.*)\1$/s, "$2")
      .trim()
      .replace(/\s+/g, " "),
  );
  return names.filter((name) => !NO_FAMILY.test(name));
}
