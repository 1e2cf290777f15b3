/** The syntax tree of a Typst text, made once, and the few ways in which everybody walks through it. */
import { type Kind, type SyntaxNode, type SyntaxTree, TypstParser } from "./parser.ts";

export type { Kind, SyntaxNode } from "./parser.ts";

/** A text with its tree. */
export interface Template extends SyntaxTree {
  readonly text: string;
  /** False for a text that is too long, or nested too deeply: then it has no nodes, and nobody knows what it does. */
  readonly isReadable: boolean;
}

/** Longer texts are made by programs. A file of a request is smaller. */
const MAX_LENGTH = 2 * 1024 ** 2;
/** All of a project's usual texts. Its trees take some twenty times as much memory. */
const MAX_KEPT_LENGTH = 2 * 1024 ** 2;

let openModule: (() => WebAssembly.Module) | null = null;
let parser: TypstParser | null = null;
/** In the order of their last use. */
const kept = new Map<string, Template>();
let keptLength = 0;

/** Says where the parser's WebAssembly comes from: each platform loads it in its own way, and only if a text is parsed. */
export function provideParser(open: () => WebAssembly.Module): void {
  openModule = open;
}

/** A text that was parsed a short while ago is not parsed again. */
export function parseTemplate(text: string): Template {
  const known = kept.get(text);
  if (known !== undefined) {
    kept.delete(text);
    kept.set(text, known);
    return known;
  }
  const template = parseAnew(text);
  keep(template);
  return template;
}

function parseAnew(text: string): Template {
  if (openModule === null) throw new Error("nobody has provided the parser");
  parser ??= new TypstParser(openModule());
  const tree = text.length > MAX_LENGTH ? null : parser.parse(text);
  if (tree !== null) return { text, root: tree.root, nodesOf: (kind) => tree.nodesOf(kind), isReadable: true };
  const root: SyntaxNode = { kind: "Markup", start: 0, end: text.length, children: [], parts: [], parent: null };
  return { text, root, nodesOf: () => [], isReadable: false };
}

function keep(template: Template): void {
  kept.set(template.text, template);
  keptLength += template.text.length;
  for (const [text] of kept) {
    if (keptLength <= MAX_KEPT_LENGTH) break;
    kept.delete(text);
    keptLength -= text.length;
  }
}

/** All nodes of some kinds, in the order of the text, each before those in it. */
export function nodesOf(tree: SyntaxTree, ...kinds: readonly Kind[]): readonly SyntaxNode[] {
  const lists = kinds.map((kind) => tree.nodesOf(kind)).filter(({ length }) => length > 0);
  const [first = [], ...others] = lists;
  return others.length === 0 ? first : lists.flat().sort((a, b) => a.start - b.start || b.end - a.end);
}

export function textOf({ text }: Template, { start, end }: SyntaxNode): string {
  return text.slice(start, end);
}

/** The signs and words between the expressions of a node. */
const SIGNS: ReadonlySet<Kind> = new Set([
  ...(["Comma", "Colon", "Semicolon", "Dot", "Dots", "Eq", "Arrow", "Star", "Hash", "Dollar", "LeftParen"] as const),
  ...([
    "RightParen",
    "LeftBracket",
    "RightBracket",
    "LeftBrace",
    "RightBrace",
    "Let",
    "Set",
    "Show",
    "Import",
  ] as const),
  ...(["Include", "As", "In", "For", "If", "Else", "While", "Context", "Return", "Plus", "Minus"] as const),
]);

/** The expressions among the children of a node. */
export function expressionsOf(node: SyntaxNode): readonly SyntaxNode[] {
  return node.parts.filter(({ kind }) => !SIGNS.has(kind));
}

const SIMPLE_ESCAPES: ReadonlyMap<string, string> = new Map([
  ["n", "\n"],
  ["r", "\r"],
  ["t", "\t"],
]);

/** What a `Str` node means. */
export function stringValue(template: Template, node: SyntaxNode): string {
  const inside = textOf(template, node).slice(1, -1);
  if (!inside.includes("\\")) return inside;
  return inside.replace(/\\(?:u\{([0-9a-fA-F]{1,6})\}|([\s\S]))/g, (written, hexadecimal, character) => {
    if (hexadecimal === undefined) return SIMPLE_ESCAPES.get(character) ?? character;
    const codePoint = Number.parseInt(hexadecimal, 16);
    return codePoint > 0x10ffff ? written : String.fromCodePoint(codePoint);
  });
}

/** The name by which something is called or read: the last one of `pdf.attach`; empty if it is no name. */
export function lastName(template: Template, node: SyntaxNode): string {
  if (node.kind === "Ident" || node.kind === "MathIdent") return textOf(template, node);
  const last = node.kind === "FieldAccess" ? node.children.at(-1) : undefined;
  return last === undefined ? "" : textOf(template, last);
}

/** Counts from 1. */
export function lineAt(text: string, offset: number): number {
  let line = 1;
  for (let end = text.indexOf("\n"); end !== -1 && end < offset; end = text.indexOf("\n", end + 1)) line++;
  return line;
}

export function withoutComments(template: Template): string {
  return blanked(template, ["LineComment", "BlockComment"]);
}

/** A text with spaces in place of nodes of some kinds: all else stays where it is. */
export function blanked(template: Template, kinds: readonly Kind[]): string {
  const { text } = template;
  const parts: string[] = [];
  let end = 0;
  for (const node of nodesOf(template, ...kinds)) {
    if (node.start < end) continue;
    parts.push(text.slice(end, node.start), textOf(template, node).replace(/[^\n]+/g, spaces));
    end = node.end;
  }
  return parts.join("") + text.slice(end);
}

function spaces({ length }: string): string {
  return " ".repeat(length);
}

/** Whether a name is in the code of a text, whatever it means there. */
export function hasName(template: Template, names: ReadonlySet<string>): boolean {
  if (!template.isReadable) return true;
  const written = new Set([...names].filter((name) => template.text.includes(name)));
  return (
    written.size > 0 && nodesOf(template, "Ident", "MathIdent").some((node) => written.has(textOf(template, node)))
  );
}
