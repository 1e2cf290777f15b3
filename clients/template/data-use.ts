/**
 * Whether a source uses the data of its request: by one of its two names, where these mean the data. Typst's rules of
 * scope decide; in doubt, it does.
 */
import { expressionsOf, nodesOf, type SyntaxNode, stringValue, type Template, textOf } from "./syntax-tree.ts";

type Names = ReadonlySet<string>;

const DATA_NAMES: Names = new Set(["data", "request"]);
const NONE: Names = new Set();

/** @param namesIn what a file gives to those that import `*` from it, by the path in the import */
export function usesData(template: Template, namesIn: (path: string) => Names = () => NONE): boolean {
  if (!template.isReadable || mayUseAnything(template)) return true;
  return new Scopes(template, namesIn).visit(template.root, DATA_NAMES).isUsed;
}

/** Those of the names of the data that a file gives another meaning, also for files that import `*` from it. */
export function dataNamesBoundIn(template: Template): Names {
  return intersection(new Scopes(template, () => NONE).visit(template.root, DATA_NAMES).bound);
}

/** The `let` at the top of a file that gives `data` another meaning, if there is one. */
export function ownDataBinding(template: Template): SyntaxNode | null {
  const found = template.root.children.find(
    (node) => node.kind === "LetBinding" && patternNames(template, node.parts[1]).includes("data"),
  );
  return found ?? null;
}

/** Text that is evaluated, and text that is not understood. */
function mayUseAnything(template: Template): boolean {
  const namesData = (node: SyntaxNode) => [...DATA_NAMES].some((name) => textOf(template, node).includes(name));
  if (nodesOf(template, "Error").some(namesData)) return true;
  return nodesOf(template, "Ident").some((node) => {
    const isMember = node.parent?.kind === "FieldAccess" && node.parent.children[0] !== node;
    return textOf(template, node) === "eval" && !isMember;
  });
}

interface Visited {
  readonly isUsed: boolean;
  /** What is bound for what follows in the same scope. */
  readonly bound: readonly string[];
}

const UNUSED: Visited = { isUsed: false, bound: [] };
const USED: Visited = { isUsed: true, bound: [] };

class Scopes {
  readonly #template: Template;
  readonly #namesIn: (path: string) => Names;

  constructor(template: Template, namesIn: (path: string) => Names) {
    this.#template = template;
    this.#namesIn = namesIn;
  }

  /** @param free the names that mean the data here */
  visit(node: SyntaxNode, free: Names): Visited {
    switch (node.kind) {
      case "Ident":
      case "MathIdent":
        return free.has(textOf(this.#template, node)) ? USED : UNUSED;
      case "FieldAccess":
        return this.#visitAll(node.children.slice(0, 1), free);
      case "Named":
        return this.#visitAll(node.children.slice(1), free);
      case "CodeBlock":
      case "ContentBlock":
        return { isUsed: this.#visitAll(node.children, free).isUsed, bound: [] };
      case "LetBinding":
        return this.#visitLet(node, free);
      case "Closure":
        return this.#visitClosure(node, free);
      case "ForLoop":
        return this.#visitFor(node, free);
      case "ModuleImport":
        return this.#visitImport(node, free);
      default:
        return this.#visitAll(node.children, free);
    }
  }

  #visitAll(nodes: readonly SyntaxNode[], free: Names): Visited {
    const bound: string[] = [];
    let left = free;
    for (const node of nodes) {
      const visited = this.visit(node, left);
      if (visited.isUsed) return USED;
      bound.push(...visited.bound);
      left = without(left, visited.bound);
    }
    return { isUsed: false, bound };
  }

  #visitLet(node: SyntaxNode, free: Names): Visited {
    const [pattern, value] = expressionsOf(node);
    if (pattern === undefined) return UNUSED;
    if (pattern.kind === "Closure") {
      const name = pattern.children.find(({ kind }) => kind === "Ident");
      const isUsed = this.#visitClosure(pattern, free).isUsed;
      return isUsed || name === undefined ? { isUsed, bound: [] } : this.#bind([textOf(this.#template, name)]);
    }
    if (value !== undefined && this.visit(value, free).isUsed) return USED;
    return this.#bind(patternNames(this.#template, pattern));
  }

  #visitClosure(node: SyntaxNode, free: Names): Visited {
    const params = node.children.find(({ kind }) => kind === "Params");
    const body = node.children.at(-1);
    if (params === undefined || body === undefined || body === params) return UNUSED;
    const defaults = params.children.filter(({ kind }) => kind === "Named");
    if (this.#visitAll(defaults, free).isUsed) return USED;
    const names = expressionsOf(params).flatMap((one) =>
      one.kind === "Named" ? [textOf(this.#template, one.children[0] ?? one)] : patternNames(this.#template, one),
    );
    return this.visit(body, without(free, names)).isUsed ? USED : UNUSED;
  }

  #visitFor(node: SyntaxNode, free: Names): Visited {
    const [pattern, iterable, body] = expressionsOf(node);
    if (pattern === undefined || iterable === undefined) return UNUSED;
    if (this.visit(iterable, free).isUsed) return USED;
    const inner = without(free, patternNames(this.#template, pattern));
    return body !== undefined && this.visit(body, inner).isUsed ? USED : UNUSED;
  }

  #visitImport(node: SyntaxNode, free: Names): Visited {
    const parts = node.parts;
    const [, source, ...rest] = parts;
    if (source === undefined) return UNUSED;
    if (source.kind !== "Ident" && this.visit(source, free).isUsed) return USED;
    const path = source.kind === "Str" ? stringValue(this.#template, source) : null;
    const as = rest.findIndex(({ kind }) => kind === "As");
    const items = rest.find(({ kind }) => kind === "ImportItems");
    const names = [
      ...(as === -1 ? [] : [textOf(this.#template, rest[as + 1] ?? source)]),
      ...(items === undefined ? [] : expressionsOf(items).map((item) => this.#nameOfItem(item))),
      ...(rest.some(({ kind }) => kind === "Star") ? this.#namesIn(path ?? "") : []),
    ];
    const isWhole = as === -1 && !rest.some(({ kind }) => kind === "Colon");
    return this.#bind(isWhole && path !== null ? [moduleName(path)] : names);
  }

  /** `name`, `module.name`, `name as other` */
  #nameOfItem(item: SyntaxNode): string {
    return textOf(this.#template, item.children.at(-1) ?? item);
  }

  #bind(bound: readonly string[]): Visited {
    return { isUsed: false, bound };
  }
}

/** `@preview/name:1.0.0`, `folder/name.typ` */
function moduleName(path: string): string {
  const last = path.slice(path.lastIndexOf("/") + 1);
  return path.startsWith("@") ? (last.split(":")[0] ?? "") : last.replace(/\.typ$/, "");
}

/** The names that a pattern binds: `name`, `(a, b)`, `(key: name)`, `..rest`. */
export function patternNames(template: Template, pattern: SyntaxNode | undefined): string[] {
  if (pattern === undefined) return [];
  if (pattern.kind === "Ident") return [textOf(template, pattern)];
  if (pattern.kind === "Named") return pattern.children.slice(1).flatMap((part) => patternNames(template, part));
  return ["Destructuring", "Parenthesized", "Spread", "Array"].includes(pattern.kind)
    ? pattern.children.flatMap((part) => patternNames(template, part))
    : [];
}

function without(names: Names, bound: readonly string[]): Names {
  return bound.some((name) => names.has(name)) ? new Set([...names].filter((name) => !bound.includes(name))) : names;
}

function intersection(bound: readonly string[]): Names {
  return new Set(bound.filter((name) => DATA_NAMES.has(name)));
}
