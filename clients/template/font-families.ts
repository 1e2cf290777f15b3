/**
 * The font families that templates ask for, as far as their texts show: they may compute further ones, or have them from a
 * package, and nobody sees which.
 */
import { argumentsOf, calledName, calleeOf } from "./calls.ts";
import {
  expressionsOf,
  type Kind,
  lastName,
  nodesOf,
  type SyntaxNode,
  stringValue,
  type Template,
  textOf,
} from "./syntax-tree.ts";

export interface RequestedFamilies {
  /** As the templates spell them. Each name of a list of alternatives counts, as in Typst's own warnings. */
  readonly names: readonly string[];
  /** Whether these are all that the templates can ask for, packages excepted. */
  readonly areAll: boolean;
}

/** No family is longer. */
const MAX_FAMILY_LENGTH = 500;

/**
 * The families that texts ask for: `font: "A"`, `font: ("A", "B")`, `font: (name: "A", covers: …)`, and `font: name`
 * where something gives the name such a value. A name that speaks of fonts may be given by an argument or a member
 * (`title-font: "A"`) in any file, any other only by `let` in the same file.
 */
export function requestedFamilies(templates: readonly Template[]): RequestedFamilies {
  const texts = templates.map((template) => ({ template, ...fontArguments(template) }));
  const all = new Set(texts.flatMap(({ references }) => [...references]));
  const names = new Set<string>();
  const given = new Set<string>();
  for (const { template, references, literal } of texts) {
    const parameters = parameterNames(template);
    for (const { name, isLet, families } of all.size === 0 ? [] : fontValues(template)) {
      given.add(name);
      const isSpeaking = all.has(name) && /font|family|face/i.test(name);
      const isOfFile = isLet && references.has(name) && !parameters.has(name);
      if (isSpeaking || isOfFile) for (const family of families) names.add(family);
    }
    for (const family of literal) names.add(family);
  }
  return {
    names: [...names],
    areAll: texts.every(({ isComputed }) => !isComputed) && [...all].every((one) => given.has(one)),
  };
}

interface FontArguments {
  /** What `font:` is in so many words. */
  readonly literal: ReadonlySet<string>;
  /** The last names of what `font:` is otherwise. */
  readonly references: ReadonlySet<string>;
  readonly isComputed: boolean;
}

function fontArguments(template: Template): FontArguments {
  const read = nodesOf(template, "Named", "Keyed").flatMap((node) => {
    const [key, value] = nameOf(template, node) === "font" ? expressionsOf(node) : [];
    return key === undefined || value === undefined ? [] : readFamilies(template, value);
  });
  return {
    literal: new Set(read.flatMap(({ families }) => families)),
    references: new Set(read.flatMap(({ references }) => references)),
    isComputed:
      !template.isReadable ||
      read.some(({ isComputed }) => isComputed) ||
      nodesOf(template, "FuncCall", "SetRule").some((node) => hasOtherArguments(template, node)),
  };
}

/** The name before the colon or the equals sign. */
function nameOf(template: Template, node: SyntaxNode): string {
  const key = node.kind === "LetBinding" ? expressionsOf(node)[0] : node.children[0];
  if (key === undefined) return "";
  return key.kind === "Str" ? stringValue(template, key) : textOf(template, key);
}

function parameterNames(template: Template): ReadonlySet<string | null> {
  const parameters = nodesOf(template, "Params").flatMap(({ children }) => children);
  return new Set(
    parameters.map((node) => {
      if (node.kind === "Ident") return textOf(template, node);
      return node.kind === "Named" ? nameOf(template, node) : null;
    }),
  );
}

/** All that is given a value like that of `font:`, by `let`, as an argument or as a member. */
function fontValues(template: Template) {
  return nodesOf(template, "Named", "Keyed", "LetBinding").flatMap((node) => {
    const [key, value] = expressionsOf(node);
    if (key === undefined || value === undefined) return [];
    const { families } = readFamilies(template, value);
    if (families.length === 0 && value.kind !== "Array") return [];
    return { name: nameOf(template, node), isLet: node.kind === "LetBinding", families };
  });
}

/** Arguments from elsewhere, and code from a string. */
function hasOtherArguments(template: Template, node: SyntaxNode): boolean {
  const callee = calleeOf(node);
  const name = callee === undefined ? "" : textOf(template, callee);
  return name === "eval" || ((name === "text" || name === "text.with") && argumentsOf(template, node).hasSpread);
}

interface ReadFamilies {
  readonly families: readonly string[];
  readonly references: readonly string[];
  readonly isComputed: boolean;
}

const NOTHING: ReadFamilies = { families: [], references: [], isComputed: false };

function readFamilies(template: Template, value: SyntaxNode): ReadFamilies {
  const together = (nodes: readonly SyntaxNode[]): ReadFamilies => {
    const all = nodes.map((node) => readFamilies(template, node));
    return {
      families: all.flatMap(({ families }) => families),
      references: all.flatMap(({ references }) => references),
      isComputed: all.some(({ isComputed }) => isComputed),
    };
  };
  switch (value.kind) {
    case "Str": {
      const family = stringValue(template, value);
      // Icons have members named "font", too.
      return !/[\p{L}\p{N}]/u.test(family) || family.length > MAX_FAMILY_LENGTH
        ? NOTHING
        : { ...NOTHING, families: [family] };
    }
    case "Array":
    case "Parenthesized":
      return together(expressionsOf(value));
    case "Dict": {
      const named = value.children.find(
        ({ kind, children: [key] }) => kind === "Named" && key !== undefined && textOf(template, key) === "name",
      );
      return named === undefined ? { ...NOTHING, isComputed: true } : together(expressionsOf(named).slice(1));
    }
    case "Conditional":
      return together(expressionsOf(value).slice(1));
    case "CodeBlock":
      return together(
        value.children.filter(({ kind }) => kind === "Code").flatMap((code) => expressionsOf(code).slice(-1)),
      );
    case "Binary":
      return value.children.some(({ kind }) => kind === "Plus") && !hasStrings(value)
        ? together(expressionsOf(value))
        : { ...NOTHING, isComputed: true };
    case "Ident":
    case "FieldAccess":
      return { ...NOTHING, references: [lastName(template, value)] };
    case "None":
    case "Auto":
      return NOTHING;
    default:
      return { ...NOTHING, isComputed: true };
  }
}

/** Strings that are joined are the parts of one name; those in arrays are names. */
function hasStrings({ children }: SyntaxNode): boolean {
  return children.some((part) => part.kind === "Str" || (part.kind !== "Array" && hasStrings(part)));
}

const BOLD_WORDS: ReadonlySet<string> = new Set(["semibold", "bold", "extrabold", "black"]);
const MIN_BOLD = 600;

export interface StyledText {
  /** Whether a rule sets the font of the text. */
  readonly hasFont: boolean;
  /** Whether there is text of that style, and no rule together with another value may set it otherwise. */
  readonly lacks: { readonly bold: boolean; readonly italic: boolean };
}

/** What templates say about bold and italic text, which Typst sets in no font that it does not have. */
export function styledTextIn(templates: readonly Template[]): StyledText {
  const some = (kinds: readonly Kind[], is: (template: Template, node: SyntaxNode) => boolean) =>
    templates.some((template) => nodesOf(template, ...kinds).some((node) => is(template, node)));
  const uses = (elements: ReadonlySet<string>) =>
    some(["FuncCall", "SetRule"], (template, node) => elements.has(calledName(template, node)));
  const hasRule = (elements: ReadonlySet<string>) =>
    some(["ShowRule"], (template, node) => isOf(template, expressionsOf(node)[0], elements));
  const isBold = some(["Heading"], () => true) || some(["Strong"], isClosed) || uses(BOLD);
  const isItalic = some(["Emph"], isClosed) || uses(ITALIC) || some(["Named"], isItalicStyle);
  const hasFont = some(
    ["SetRule"],
    (template, node) => calledName(template, node) === "text" && argumentsOf(template, node).named.has("font"),
  );
  const bold = isBold && !(hasRule(BOLD) && some(["Named"], isOtherWeight));
  return { hasFont, lacks: { bold, italic: isItalic && !hasRule(ITALIC) } };
}

const BOLD: ReadonlySet<string> = new Set(["heading", "strong"]);
const ITALIC: ReadonlySet<string> = new Set(["emph"]);

/** Typst refuses what is not closed, and a word may end with an underscore. */
function isClosed(_template: Template, { kind, children }: SyntaxNode): boolean {
  return children.length > 1 && children.at(-1)?.kind === (kind === "Strong" ? "Star" : "Underscore");
}

function isItalicStyle(template: Template, node: SyntaxNode): boolean {
  const [key, value] = expressionsOf(node);
  if (key === undefined || value?.kind !== "Str" || textOf(template, key) !== "style") return false;
  return stringValue(template, value) === "italic";
}

function isOf(template: Template, selector: SyntaxNode | undefined, elements: ReadonlySet<string>): boolean {
  if (selector === undefined) return false;
  const { kind, children } = selector;
  if (kind === "Ident") return elements.has(textOf(template, selector));
  return children.some((child) => isOf(template, child, elements));
}

function isOtherWeight(template: Template, node: SyntaxNode): boolean {
  const [key, value] = expressionsOf(node);
  if (key === undefined || value === undefined || textOf(template, key) !== "weight") return false;
  if (value.kind === "Int") return Number(textOf(template, value)) < MIN_BOLD;
  return value.kind !== "Str" || !BOLD_WORDS.has(stringValue(template, value));
}
