/** The files and packages that a template may read: by the calls of functions that read files, by imports, and by its strings. */
import { type PackageSpec, parsePackageSpec } from "../../rules/package-spec.ts";
import { definesFunction, knownText, possibleTexts, resolved } from "./bindings.ts";
import { argumentsOf, calledName } from "./calls.ts";
import { FILE_FUNCTIONS } from "./file-kinds.ts";
import {
  expressionsOf,
  nodesOf,
  parseTemplate,
  type SyntaxNode,
  stringValue,
  type Template,
  textOf,
} from "./syntax-tree.ts";

export interface FileRead {
  /** `import`, `include`, or the function: see `FILE_FUNCTIONS`. */
  readonly by: string;
  /** Null if it is computed. */
  readonly path: string | null;
  /** Of a computed one, the paths that the text gives to its name. */
  readonly mayBe: readonly string[];
  readonly line: number;
}

interface Reads {
  readonly reads: readonly FileRead[];
  readonly strings: readonly string[];
  /** Whether a function that reads files is handed to another one, or gets another name. */
  readonly handsOnFunctions: boolean;
}

/** Longer strings are text, not paths. */
const MAX_PATH_LENGTH = 1024;
/** In one file. A file with more is made by a program, or to keep this one busy. */
const MAX_STRINGS = 100_000;

const known = new WeakMap<Template, Reads>();

export function readsOf(template: Template): Reads {
  const found = known.get(template) ?? findReads(template);
  known.set(template, found);
  return found;
}

/** The paths of calls and imports, with their first lines; none of packages. */
export function readPaths(template: Template): ReadonlyMap<string, number> {
  const found = new Map<string, number>();
  for (const { path, line } of readsOf(template).reads) {
    if (path !== null && path !== "" && !path.startsWith("@") && !found.has(path)) found.set(path, line);
  }
  return found;
}

/** The functions that a template calls with computed paths. */
export function computingFunctions(template: Template): string[] {
  return [...new Set(readsOf(template).reads.flatMap(({ by, path }) => (path === null ? [by] : [])))];
}

export interface PackageUse {
  readonly spec: PackageSpec;
  readonly line: number;
  /** Whether an import has its name, and not only a string, which may be part of a computed import. */
  readonly isImport: boolean;
}

/** Each package once for each of its places. */
export function packagesIn(template: Template): readonly PackageUse[] {
  const { reads, strings } = readsOf(template);
  const imports = reads.flatMap(({ path, line }) => {
    const spec = path === null ? null : parsePackageSpec(path);
    return spec === null ? [] : [{ spec, line, isImport: true }];
  });
  const others = strings.flatMap((text) => {
    const spec = text.startsWith("@") ? parsePackageSpec(text) : null;
    return spec === null ? [] : [{ spec, line: 1, isImport: false }];
  });
  return [...imports, ...others];
}

function findReads(template: Template): Reads {
  const strings = new Set<string>();
  for (const node of nodesOf(template, "Str")) addString(strings, stringValue(template, node));
  // What is evaluated may be in raw text.
  if (
    template.text.includes("eval") &&
    nodesOf(template, "FuncCall").some((call) => calledName(template, call) === "eval")
  ) {
    for (const raw of nodesOf(template, "Raw"))
      for (const text of stringsInRaw(template, raw)) addString(strings, text);
  }
  const lineOf = countLines(template.text);
  const reads = nodesOf(template, "ModuleImport", "ModuleInclude", "FuncCall").flatMap(
    (node) => readBy(template, node, lineOf) ?? [],
  );
  for (const { path } of reads) if (path !== null) addString(strings, path);
  const handsOnFunctions = nodesOf(template, "Ident").some((node) => isHandedOn(template, node));
  return { reads, strings: [...strings], handsOnFunctions };
}

function addString(strings: Set<string>, text: string): void {
  if (text !== "" && text.length <= MAX_PATH_LENGTH && strings.size < MAX_STRINGS) strings.add(text);
}

function stringsInRaw(template: Template, raw: SyntaxNode): readonly string[] {
  const text = raw.children.filter(({ kind }) => kind === "Text").map((node) => textOf(template, node));
  const inside = parseTemplate(`#{\n${text.join("\n")}\n}`);
  return nodesOf(inside, "Str").map((node) => stringValue(inside, node));
}

/** The lines of offsets that never fall. To begin anew for each would take minutes for a text of a program. */
function countLines(text: string): (offset: number) => number {
  let line = 1;
  let end = text.indexOf("\n");
  return (offset) => {
    for (; end !== -1 && end < offset; end = text.indexOf("\n", end + 1)) line++;
    return line;
  };
}

function readBy(template: Template, node: SyntaxNode, lineOf: (offset: number) => number): FileRead | null {
  const line = () => lineOf(node.start);
  if (node.kind === "ModuleImport" || node.kind === "ModuleInclude") {
    const by = node.kind === "ModuleImport" ? "import" : "include";
    const [source] = expressionsOf(node);
    if (source === undefined || isModule(by, source)) return null;
    return { by, path: knownText(template, source), mayBe: possibleTexts(template, source), line: line() };
  }
  if (node.kind !== "FuncCall") return null;
  const by = fileFunction(template, node);
  if (by === null) return null;
  const { positional, hasSpread } = argumentsOf(template, node);
  const [argument] = positional;
  if (argument === undefined || isContent(template, by, argument)) return null;
  // With a second one, `pdf.attach` takes the content from there and reads no file.
  if (by === "attach" && positional.length > 1) return null;
  const path = knownText(template, argument);
  if (path === null && hasSpread && argument.kind === "ContentBlock") return null;
  return { by, path, mayBe: possibleTexts(template, argument), line: line() };
}

/** The function that reads files and that is called; null for another one, or one that the file defines itself. */
function fileFunction(template: Template, call: SyntaxNode): string | null {
  const callee = call.children[0];
  const written = callee === undefined ? "" : textOf(template, callee);
  const name = written.replace(/^(?:std\.)?(?:pdf\.(?=attach$))?/, "");
  if (!FILE_FUNCTIONS.has(name) || callee?.kind === "MathIdent") return null;
  return name === written && definesFunction(template, name) ? null : name;
}

/** `import name: …` of something that is a module already. */
function isModule(by: string, { kind }: SyntaxNode): boolean {
  return by === "import" && (kind === "Ident" || kind === "FieldAccess" || kind === "FuncCall");
}

/** Whether an argument is what a file would hold: `bytes(…)`, and for `cbor` what a plugin has returned. */
function isContent(template: Template, by: string, argument: SyntaxNode): boolean {
  const value = resolved(template, argument);
  if (value.kind !== "FuncCall") return value.kind === "ContentBlock" || value.kind === "None";
  return by === "cbor" || calledName(template, value) === "bytes";
}

const HANDED_ON_IN: ReadonlySet<string> = new Set(["Args", "LetBinding", "Named", "Keyed", "Array", "Parenthesized"]);

/** `rows.map(json)`, `let reader = json`, but not `let json(…) = …`, and not a name before a colon. */
function isHandedOn(template: Template, node: SyntaxNode): boolean {
  const name = textOf(template, node);
  if (!FILE_FUNCTIONS.has(name)) return false;
  const { parent } = node;
  if (parent === null || !HANDED_ON_IN.has(parent.kind)) return false;
  const isBound = parent.kind === "LetBinding" || parent.kind === "Named";
  return isBound ? parent.children.at(-1) === node && expressionsOf(parent)[0] !== node : name !== "attach";
}
