/**
 * Typst's own parser, `typst-syntax` as WebAssembly from the package `codemirror-lang-typst`. The package's own script is
 * made for an editor: it cannot begin anew after a text whose nesting has exhausted the stack, and it hands over the tree
 * by some twelve calls for each node, which takes three times as long as to parse. So this file reads the tree where the
 * module has it in memory. The places below are those of the pinned version; a test compares them with its own `tree()`.
 */

/** The kinds of nodes in the order of their numbers. */
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

/** How the module has a `SyntaxNode` in memory, in words of four bytes. */
const NODE = { words: 8, pointer: 0, length: 6, kind: 7 };
/** What an error has in place of its kind. A node with children has the number before; both are a pointer to the rest. */
const ERROR_NODE = KINDS.length + 1;
const INNER = { length: 6, children: 10, count: 11, kind: 15 };
const ERROR = { length: 14 };
/** The root is in the source, which the parser has a pointer to. */
const SOURCE_OF_PARSER = 1;
const ROOT_OF_SOURCE = 16;

const NO_CHILDREN: readonly SyntaxNode[] = [];

interface Exports {
  readonly memory: WebAssembly.Memory;
  __wbindgen_start(): void;
  __wbindgen_malloc(size: number, align: number): number;
  typstwasmparser_new(pointer: number, length: number): number;
  __wbg_typstwasmparser_free(parser: number, isOwned: number): void;
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
      return readTree(this.#exports, text);
    } catch (error) {
      if (!(error instanceof RangeError) && !(error instanceof WebAssembly.RuntimeError)) throw error;
      // The instance may be left in any state.
      this.#exports = null;
      return null;
    }
  }
}

function readTree(exports: Exports, text: string): SyntaxTree {
  const bytes = new TextEncoder().encode(text);
  const pointer = exports.__wbindgen_malloc(bytes.length, 1);
  new Uint8Array(exports.memory.buffer).set(bytes, pointer);
  const parser = exports.typstwasmparser_new(pointer, bytes.length);
  // Parsing may have moved the memory.
  const reader = new TreeReader(new Uint32Array(exports.memory.buffer));
  const root = reader.read(reader.pointerAt(parser / 4 + SOURCE_OF_PARSER) + ROOT_OF_SOURCE, 0, null);
  exports.__wbg_typstwasmparser_free(parser, 1);
  return { root, byKind: reader.byKind };
}

class TreeReader {
  readonly byKind = new Map<Kind, SyntaxNode[]>();
  readonly #words: Uint32Array;

  constructor(words: Uint32Array) {
    this.#words = words;
  }

  pointerAt(word: number): number {
    return this.#wordAt(word) / 4;
  }

  /** @param at the word where the node begins */
  read(at: number, start: number, parent: SyntaxNode | null): SyntaxNode {
    const number = this.#numberAt(at + NODE.kind);
    const kind = KINDS[number];
    if (kind !== undefined) return this.#add(kind, start, this.#wordAt(at + NODE.length), NO_CHILDREN, parent);
    const found = this.pointerAt(at + NODE.pointer);
    if (number === ERROR_NODE)
      return this.#add("Error", start, this.#wordAt(found + ERROR.length), NO_CHILDREN, parent);
    const children: SyntaxNode[] = [];
    const length = this.#wordAt(found + INNER.length);
    const node = this.#add(KINDS[this.#numberAt(found + INNER.kind)] ?? "Error", start, length, children, parent);
    const first = this.pointerAt(found + INNER.children);
    const count = this.#wordAt(found + INNER.count);
    let place = start;
    for (let index = 0; index < count; index++) {
      const child = this.read(first + index * NODE.words, place, node);
      children.push(child);
      place = child.end;
    }
    return node;
  }

  #add(
    kind: Kind,
    start: number,
    length: number,
    children: readonly SyntaxNode[],
    parent: SyntaxNode | null,
  ): SyntaxNode {
    const node = { kind, start, end: start + length, children, parent };
    const same = this.byKind.get(kind);
    if (same === undefined) this.byKind.set(kind, [node]);
    else same.push(node);
    return node;
  }

  #wordAt(word: number): number {
    return this.#words[word] ?? 0;
  }

  /** What is beside it in its word may be anything. */
  #numberAt(word: number): number {
    return this.#wordAt(word) & 0xff;
  }
}

function instantiate(module: WebAssembly.Module): Exports {
  // It calls them for its own `tree()`, and before it ends with a panic.
  const fail = () => {
    throw new WebAssembly.RuntimeError("the parser has failed");
  };
  const imports = Object.fromEntries(WebAssembly.Module.imports(module).map(({ name }) => [name, fail]));
  const own = { ...imports, __wbindgen_init_externref_table: () => {} };
  const exports = parserIn(new WebAssembly.Instance(module, { "./typst_syntax_bg.js": own }).exports);
  exports.__wbindgen_start();
  return exports;
}

function parserIn(exports: WebAssembly.Exports): Exports {
  const names = ["memory", "__wbindgen_malloc", "typstwasmparser_new", "__wbg_typstwasmparser_free"];
  const isParser = (all: object): all is Exports => names.every((name) => name in all);
  if (!isParser(exports)) throw new Error("the WebAssembly is not that of the parser");
  return exports;
}
