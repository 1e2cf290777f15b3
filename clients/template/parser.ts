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
  /** The children that mean something, without white space and comments. */
  readonly parts: readonly SyntaxNode[];
  /** Null for the root. */
  readonly parent: SyntaxNode | null;
}

export interface SyntaxTree {
  readonly root: SyntaxNode;
  /** All nodes of a kind, in the order of the text, each before those in it. */
  nodesOf(kind: Kind): readonly SyntaxNode[];
}

const TRIVIA: ReadonlySet<number> = new Set(
  (["Space", "LineComment", "BlockComment", "Parbreak"] as const).map((kind) => KINDS.indexOf(kind)),
);

/** How the module has a `SyntaxNode` in memory, in words of four bytes. */
const NODE = { words: 8, pointer: 0, length: 6, kind: 7 };
/** What an error has in place of its kind. A node with children has the number before; both are a pointer to the rest. */
const ERROR_NODE = KINDS.length + 1;
const INNER = { descendants: 8, children: 10, count: 11, kind: 15 };
const ERROR = { length: 14 };
/** The root is in the source, which the parser has a pointer to. */
const SOURCE_OF_PARSER = 1;
const ROOT_OF_SOURCE = 16;

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
  const tree = new FlatTree(new Uint32Array(exports.memory.buffer), parser / 4);
  exports.__wbg_typstwasmparser_free(parser, 1);
  return tree;
}

/**
 * The nodes have numbers in the order of the text, each before those in it. Most are signs and spaces that nobody asks for,
 * so a node becomes an object when it is asked for.
 */
class FlatTree implements SyntaxTree {
  readonly #kinds: Uint8Array;
  readonly #starts: Uint32Array;
  readonly #ends: Uint32Array;
  readonly #parents: Int32Array;
  /** The number of the first node that is not in this one. */
  readonly #next: Uint32Array;
  readonly #made: FlatNode[] = [];
  readonly #lists = new Map<Kind, readonly SyntaxNode[]>();
  #count = 0;

  /** @param words the memory of the module. @param parser where its parser is */
  constructor(words: Uint32Array, parser: number) {
    const root = pointerAt(words, parser + SOURCE_OF_PARSER) + ROOT_OF_SOURCE;
    const size = words[pointerAt(words, root + NODE.pointer) + INNER.descendants] ?? 0;
    this.#kinds = new Uint8Array(size);
    this.#starts = new Uint32Array(size);
    this.#ends = new Uint32Array(size);
    this.#parents = new Int32Array(size);
    this.#next = new Uint32Array(size);
    this.#read(words, root, 0, -1);
  }

  get root(): SyntaxNode {
    return this.nodeAt(0);
  }

  nodesOf(kind: Kind): readonly SyntaxNode[] {
    const known = this.#lists.get(kind);
    if (known !== undefined) return known;
    const number = KINDS.indexOf(kind);
    const found: SyntaxNode[] = [];
    this.#lists.set(kind, found);
    for (let at = this.#kinds.indexOf(number); at !== -1; at = this.#kinds.indexOf(number, at + 1)) {
      found.push(this.nodeAt(at));
    }
    return found;
  }

  nodeAt(number: number): FlatNode {
    const known = this.#made[number];
    if (known !== undefined) return known;
    const kind = KINDS[this.#kinds[number] ?? 0] ?? "Error";
    const node = new FlatNode(this, number, kind, this.#starts[number] ?? 0, this.#ends[number] ?? 0);
    this.#made[number] = node;
    return node;
  }

  parentOf(number: number): SyntaxNode | null {
    const parent = this.#parents[number] ?? -1;
    return parent === -1 ? null : this.nodeAt(parent);
  }

  childrenOf(number: number, isWanted: (kind: number) => boolean = () => true): readonly SyntaxNode[] {
    const children: SyntaxNode[] = [];
    const end = this.#next[number] ?? 0;
    for (let child = number + 1; child < end; child = this.#next[child] ?? end) {
      if (isWanted(this.#kinds[child] ?? 0)) children.push(this.nodeAt(child));
    }
    return children;
  }

  /** @returns where the node ends in the text */
  #read(words: Uint32Array, at: number, start: number, parent: number): number {
    const number = this.#count++;
    // What is beside it in its word may be anything.
    let kind = (words[at + NODE.kind] ?? 0) & 0xff;
    let end = start + (words[at + NODE.length] ?? 0);
    if (kind === ERROR_NODE) {
      kind = KINDS.indexOf("Error");
      end = start + (words[pointerAt(words, at + NODE.pointer) + ERROR.length] ?? 0);
    } else if (kind >= KINDS.length) {
      const inner = pointerAt(words, at + NODE.pointer);
      kind = (words[inner + INNER.kind] ?? 0) & 0xff;
      const first = pointerAt(words, inner + INNER.children);
      const last = first + (words[inner + INNER.count] ?? 0) * NODE.words;
      end = start;
      for (let child = first; child < last; child += NODE.words) end = this.#read(words, child, end, number);
    }
    this.#kinds[number] = kind;
    this.#starts[number] = start;
    this.#ends[number] = end;
    this.#parents[number] = parent;
    this.#next[number] = this.#count;
    return end;
  }
}

function pointerAt(words: Uint32Array, word: number): number {
  return (words[word] ?? 0) / 4;
}

class FlatNode implements SyntaxNode {
  readonly kind: Kind;
  readonly start: number;
  readonly end: number;
  readonly #tree: FlatTree;
  readonly #number: number;
  #children: readonly SyntaxNode[] | null = null;
  #parts: readonly SyntaxNode[] | null = null;

  constructor(tree: FlatTree, number: number, kind: Kind, start: number, end: number) {
    this.#tree = tree;
    this.#number = number;
    this.kind = kind;
    this.start = start;
    this.end = end;
  }

  get children(): readonly SyntaxNode[] {
    this.#children ??= this.#tree.childrenOf(this.#number);
    return this.#children;
  }

  get parts(): readonly SyntaxNode[] {
    this.#parts ??= this.#tree.childrenOf(this.#number, (kind) => !TRIVIA.has(kind));
    return this.#parts;
  }

  get parent(): SyntaxNode | null {
    return this.#tree.parentOf(this.#number);
  }
}

function instantiate(module: WebAssembly.Module): Exports {
  // The parser calls them for its own `tree()`, and before it ends with a panic.
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
