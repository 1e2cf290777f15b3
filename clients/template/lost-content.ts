/** What a document loses, or shows otherwise than its author expects, without an error. */
import { bindingsOf, resolved } from "./bindings.ts";
import { argumentsOf, calledBuiltIn, calledName, calleeOf } from "./calls.ts";
import { findDataMistakes, type KnownData, knownData } from "./data-mistakes.ts";
import { findForeignMarkup } from "./foreign-markup.ts";
import { findIdleCode } from "./idle-code.ts";
import { expressionsOf, hasName, nodesOf, type SyntaxNode, stringValue, type Template, textOf } from "./syntax-tree.ts";
import { findingAt, MAX_NOTED_LENGTH, type TemplateFinding } from "./template-findings.ts";

const MAX_MARKED = 40;

const NOTHING_KNOWN = knownData("");

/**
 * In the order of the text.
 *
 * @param isSource no other file uses what this one defines
 */
export function findLostContent(
  template: Template,
  isSource: boolean,
  data: KnownData = NOTHING_KNOWN,
): TemplateFinding[] {
  if (template.text.length > MAX_NOTED_LENGTH) return [];
  const marked = [...findForeignMarkup(template, data), ...findIdleCode(template, isSource)].map((finding) => {
    const [shown = ""] = template.text.slice(finding.offset, finding.offset + finding.length).split("\n", 1);
    return { ...finding, message: `“${shown.slice(0, MAX_MARKED)}” ${finding.message}` };
  });
  const others = [...unevenRows(template), ...(isSource ? whiteText(template) : []), ...lettersOfOneItem(template)];
  return [...marked, ...others, ...findDataMistakes(template, data)].sort((a, b) => a.offset - b.offset);
}

const TABLES: ReadonlySet<string> = new Set(["table", "grid"]);
/** Cells of several columns, or at places of their own. */
const PLACED = /\b(?:colspan|rowspan)\b|\b[xy]:/;

/** Tables whose rows have another number of cells than the table has columns: all that follows moves aside. */
function unevenRows(template: Template): TemplateFinding[] {
  return nodesOf(template, "FuncCall").flatMap((call) => {
    if (!TABLES.has(calledBuiltIn(template, call)) || PLACED.test(textOf(template, call))) return [];
    const { positional, named } = argumentsOf(template, call);
    const columns = columnCount(template, named.get("columns"));
    const list = call.children.find(({ kind }) => kind === "Args");
    if (columns === null || list === undefined) return [];
    const rows = list.parts.flatMap((part) => (part.kind === "Spread" ? (rowMadeBy(template, part) ?? []) : []));
    const headers = positional.filter((part) => part.kind === "FuncCall" && calledName(template, part) === "header");
    return [...rows, ...headers].flatMap((row) => {
      const cells = cellCount(template, row);
      if (cells === null || cells % columns === 0 || columns % cells === 0) return [];
      return findingAt(
        row,
        `makes ${cells} cells where the table has ${columns} columns: those that follow move aside.`,
      );
    });
  });
}

function columnCount(template: Template, columns: SyntaxNode | undefined): number | null {
  if (columns?.kind === "Int") return Number(textOf(template, columns));
  return columns?.kind === "Array" ? expressionsOf(columns).length : null;
}

/** The array that `..rows.map(row => (…)).flatten()` or `..for row in rows { (…) }` makes of each row. */
function rowMadeBy(template: Template, spread: SyntaxNode): SyntaxNode | null {
  const [made] = expressionsOf(spread);
  const body =
    made?.kind === "ForLoop" ? made.children.at(-1) : made === undefined ? undefined : mapped(template, made);
  const row = body === undefined ? null : resolved(template, body);
  return row?.kind === "Array" ? row : null;
}

function mapped(template: Template, made: SyntaxNode): SyntaxNode | undefined {
  const inner = calledName(template, made) === "flatten" ? calleeOf(made)?.children[0] : undefined;
  if (inner?.kind !== "FuncCall" || calledName(template, inner) !== "map") return undefined;
  const [closure] = argumentsOf(template, inner).positional;
  return closure?.kind === "Closure" ? closure.children.at(-1) : undefined;
}

const LINES: ReadonlySet<string> = new Set(["hline", "vline"]);

/** Null if some are spread, or may be cells of several columns. @param row an array, or a call of `table.header` */
function cellCount(template: Template, row: SyntaxNode): number | null {
  const { positional, hasSpread } =
    row.kind === "FuncCall"
      ? argumentsOf(template, row)
      : { positional: expressionsOf(row), hasSpread: expressionsOf(row).some(({ kind }) => kind === "Spread") };
  const parts = positional.map((part) => resolved(template, part));
  const cells = parts.filter((part) => part.kind !== "FuncCall" || !LINES.has(calledName(template, part)));
  return hasSpread || cells.length === 0 || cells.some((cell) => isOwnCall(template, cell)) ? null : cells.length;
}

function isOwnCall(template: Template, node: SyntaxNode): boolean {
  const name = node.kind === "FuncCall" ? calledBuiltIn(template, node) : "";
  const isImported = nodesOf(template, "ModuleImport").length > 0;
  return name !== "" && (isImported || bindingsOf(template).has(name));
}

const OF_TEXT: ReadonlySet<string> = new Set(["text"]);
/** What may lie below a text. */
const GROUNDS: ReadonlySet<string> = new Set([
  "image",
  "background",
  "curve",
  "polygon",
  "tiling",
  "place",
  "gradient",
]);

/** White text in a template that colours nothing else. */
function whiteText(template: Template): TemplateFinding[] {
  if (!template.text.includes("white")) return [];
  if (nodesOf(template, "ModuleImport", "ModuleInclude").length > 0 || hasName(template, GROUNDS)) return [];
  const fills = nodesOf(template, "Named").filter(({ children: [name] }) => name && textOf(template, name) === "fill");
  const ofText = fills.filter(({ parent }) => {
    const call = parent?.parent;
    return call != null && OF_TEXT.has(calledBuiltIn(template, call));
  });
  const white = ofText.filter(({ children }) => textOf(template, children.at(-1) ?? template.root) === "white");
  if (fills.length > ofText.length || hasName(template, new Set(["highlight"]))) return [];
  return white.map((node) => findingAt(node, "white text, and nothing in the template colours the page below it."));
}

/** `for name in ("Ada")` */
function lettersOfOneItem(template: Template): TemplateFinding[] {
  return nodesOf(template, "ForLoop").flatMap((loop) => {
    const iterable = expressionsOf(loop)[1];
    if (iterable === undefined) return [];
    const [value] = bindingsOf(template).get(textOf(template, iterable))?.values ?? [iterable];
    const text = resolved(template, iterable);
    if (value?.kind !== "Parenthesized" || text.kind !== "Str") return [];
    const right = `(${JSON.stringify(stringValue(template, text))},)`;
    return findingAt(
      iterable,
      `goes through the letters of one text: an array with one item has a comma, as in ${right}.`,
    );
  });
}
