/**
 * Typst's own parser, `typst-syntax` as WebAssembly from the package `codemirror-lang-typst`. The package's own script is
 * made for an editor: it cannot begin anew after a text whose nesting has exhausted the stack. So this file has the few
 * functions that the module imports; their names have the version of the package in them.
 */

/** The kinds of nodes in the order of their numbers. `TypstParser` compares them with those of the module. */
const KINDS = [
  ...(["None of these", "End", "Error", "Shebang", "LineComment", "BlockComment", "Markup", "Text", "Space"] as const),
  ...(["Linebreak", "Parbreak", "Escape", "Shorthand", "SmartQuote", "Strong", "Emph", "Raw", "RawLang"] as const),
  ...(["RawDelim", "RawTrimmed", "Link", "Label", "Ref", "RefMarker", "Heading", "HeadingMarker", "ListItem"] as const),
  ...(["ListMarker", "EnumItem", "EnumMarker", "TermItem", "TermMarker", "Equation", "Math", "MathText"] as const),
  ...(["MathIdent", "MathShorthand", "MathAlignPoint", "MathDelimited", "MathAttach", "MathPrimes"] as const),
  ...(["MathFrac", "MathRoot", "Hash", "LeftBrace", "RightBrace", "LeftBracket", "RightBracket"] as const),
  ...(["LeftParen", "RightParen", "Comma", "Semicolon", "Colon", "Star", "Underscore", "Dollar", "Plus"] as const),
  ...(["Minus", "Slash", "Hat", "Prime", "Dot", "Eq", "EqEq", "ExclEq", "Lt", "LtEq", "Gt", "GtEq"] as const),
  ...(["PlusEq", "HyphEq", "StarEq", "SlashEq", "Dots", "Arrow", "Root", "Not", "And", "Or", "None"] as const),
  ...(["Auto", "Let", "Set", "Show", "Context", "If", "Else", "For", "In", "While", "Break"] as const),
  ...(["Continue", "Return", "Import", "Include", "As", "Code", "Ident", "Bool", "Int", "Float"] as const),
  ...(["Numeric", "Str", "CodeBlock", "ContentBlock", "Parenthesized", "Array", "Dict", "Named", "Keyed"] as const),
  ...(["Unary", "Binary", "FieldAccess", "FuncCall", "Args", "Spread", "Closure", "Params"] as const),
  ...(["LetBinding", "SetRule", "ShowRule", "Contextual", "Conditional", "WhileLoop", "ForLoop"] as const),
  ...(["ModuleImport", "ImportItems", "ImportItemPath", "RenamedImportItem", "ModuleInclude"] as const),
  ...(["LoopBreak", "LoopContinue", "FuncReturn", "Destructuring", "DestructAssignment"] as const),
] as const;

export type Kind = (typeof KINDS)[number];

/** A node of the tree. Offsets are in UTF-16 code units. */
export interface SyntaxNode {
  readonly kind: Kind;
  readonly start: number;
  readonly end: number;
  readonly children: readonly SyntaxNode[];
  /** Null for the root. */
  readonly parent: SyntaxNode | null;
}

export interface SyntaxTree {
  readonly root: SyntaxNode;
  /** All nodes of each kind, each before those in it. */
  readonly byKind: ReadonlyMap<Kind, readonly SyntaxNode[]>;
}

const NO_CHILDREN: readonly MadeNode[] = [];

/** Its place is that in its parent, until `place` is called. */
class MadeNode implements SyntaxNode {
  kind: Kind = "Error";
  start = 0;
  end = 0;
  children = NO_CHILDREN;
  parent: MadeNode | null = null;
}

function isNode(value: unknown): value is MadeNode {
  return value instanceof MadeNode;
}

interface Exports {
  readonly memory: WebAssembly.Memory;
  readonly __wbindgen_export_3: WebAssembly.Table;
  __wbindgen_start(): void;
  __wbindgen_malloc(size: number, align: number): number;
  typstwasmparser_new(pointer: number, length: number): number;
  typstwasmparser_tree(parser: number): MadeNode;
  __wbg_typstwasmparser_free(parser: number, isOwned: number): void;
  typstwasmparser_get_node_types(): readonly (readonly [string, number])[];
}

export class TypstParser {
  readonly #module: WebAssembly.Module;
  #exports: Exports | null = null;

  constructor(module: WebAssembly.Module) {
    this.#module = module;
  }

  /** Null if the nesting is too deep, at some hundreds of brackets: Typst refuses such a text as well. */
  parse(text: string): SyntaxTree | null {
    this.#exports ??= instantiate(this.#module);
    try {
      const root = makeTree(this.#exports, text);
      const byKind = new Map<Kind, SyntaxNode[]>();
      place(root, null, byKind);
      return { root, byKind };
    } catch (error) {
      if (!(error instanceof RangeError) && !(error instanceof WebAssembly.RuntimeError)) throw error;
      // The instance may be left in any state.
      this.#exports = null;
      return null;
    }
  }
}

function makeTree(exports: Exports, text: string): MadeNode {
  const bytes = new TextEncoder().encode(text);
  const pointer = exports.__wbindgen_malloc(bytes.length, 1);
  new Uint8Array(exports.memory.buffer).set(bytes, pointer);
  const parser = exports.typstwasmparser_new(pointer, bytes.length);
  const tree = exports.typstwasmparser_tree(parser);
  exports.__wbg_typstwasmparser_free(parser, 1);
  return tree;
}

function place(node: MadeNode, parent: MadeNode | null, byKind: Map<Kind, SyntaxNode[]>): void {
  node.parent = parent;
  const same = byKind.get(node.kind);
  if (same === undefined) byKind.set(node.kind, [node]);
  else same.push(node);
  let { start } = node;
  for (const child of node.children) {
    child.start = start;
    child.end += start;
    start = child.end;
    place(child, node, byKind);
  }
}

function instantiate(module: WebAssembly.Module): Exports {
  const decoder = new TextDecoder();
  /** The names of members, which are constants of the module: each is decoded once. */
  const names = new Map<number, string>();
  const read = (pointer: number, length: number) =>
    decoder.decode(new Uint8Array(exports.memory.buffer, pointer, length));
  const name = (pointer: number, length: number) => {
    const known = names.get(pointer);
    if (known !== undefined && known.length === length) return known;
    const text = read(pointer, length);
    names.set(pointer, text);
    return text;
  };
  const fail = (pointer: number, length: number) => {
    throw new WebAssembly.RuntimeError(read(pointer, length));
  };
  /**
   * The items of the lists that are being filled, the inner ones last: a list is the place where it begins. An array for
   * each would be most of the memory.
   */
  const open: unknown[] = [];
  let isMakingTree = false;
  const setMember = (node: MadeNode, key: string, value: unknown) => {
    if (key === "kind") node.kind = KINDS[Number(value)] ?? "Error";
    else if (key === "length") node.end = Number(value);
    else if (typeof value === "number") {
      if (key === "children" && value < open.length) node.children = open.slice(value).filter(isNode);
      // The other lists are hints, and the positions of children, which stand one behind the other.
      open.length = value;
    }
  };
  const imports = {
    __wbindgen_string_new: name,
    __wbindgen_number_new: (value: number) => value,
    __wbindgen_bigint_from_u64: (value: bigint) => BigInt.asUintN(64, value),
    __wbindgen_error_new: (pointer: number, length: number) => new Error(read(pointer, length)),
    __wbg_new_405e22f390576ce2: () => new MadeNode(),
    __wbg_new_78feb108b6472713: () => (isMakingTree ? open.length : []),
    __wbg_new_8a6f238a6ece86ea: () => new Error("the parser has failed"),
    __wbg_set_3f1d0b984ed272ed: setMember,
    __wbg_set_37837023f3d740e8: (list: unknown[] | number, index: number, value: unknown) => {
      if (typeof list === "number") open[list + index] = value;
      else list[index] = value;
    },
    __wbg_stack_0ed75d68575b0f3c: () => undefined,
    __wbg_error_7534b8e9a36f1ab4: fail,
    __wbindgen_debug_string: () => undefined,
    __wbindgen_throw: fail,
    __wbindgen_init_externref_table: () => {
      const table = exports.__wbindgen_export_3;
      const first = table.grow(4);
      table.set(0, undefined);
      for (const [index, value] of [undefined, null, true, false].entries()) table.set(first + index, value);
    },
  };
  const instance = new WebAssembly.Instance(module, { "./typst_syntax_bg.js": imports });
  const exports = parserIn(instance.exports);
  exports.__wbindgen_start();
  if (exports.typstwasmparser_get_node_types().some(([kind, number]) => KINDS[number] !== kind)) {
    throw new Error("the parser has other kinds of nodes than parser.ts: codemirror-lang-typst has been updated");
  }
  isMakingTree = true;
  return exports;
}

function parserIn(exports: WebAssembly.Exports): Exports {
  const names = ["typstwasmparser_new", "typstwasmparser_tree", "typstwasmparser_get_node_types"];
  const isParser = (all: object): all is Exports => names.every((name) => name in all);
  if (!isParser(exports)) throw new Error("the WebAssembly is not that of the parser");
  return exports;
}
