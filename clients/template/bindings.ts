/** What the names of a file are bound to, as far as its text shows, and which text an expression is. */
import { patternNames } from "./data-use.ts";
import { expressionsOf, nodesOf, type SyntaxNode, stringValue, type Template, textOf } from "./syntax-tree.ts";

interface Binding {
  /** The values of `let name = value`, and of `name = value` and `name += value`. */
  readonly values: SyntaxNode[];
  /** Whether the name is also that of a function, a parameter, a variable of a loop or an import. */
  isOther: boolean;
}

export type Bindings = ReadonlyMap<string, Binding>;

const known = new WeakMap<Template, Bindings>();

export function bindingsOf(template: Template): Bindings {
  const found = known.get(template) ?? findBindings(template);
  known.set(template, found);
  return found;
}

const BINDING = [
  "LetBinding",
  "Binary",
  "ForLoop",
  "Closure",
  "Params",
  "ImportItemPath",
  "RenamedImportItem",
] as const;

function findBindings(template: Template): Bindings {
  const bindings = new Map<string, Binding>();
  const bindingOf = (name: string) => {
    const binding = bindings.get(name) ?? { values: [], isOther: false };
    bindings.set(name, binding);
    return binding;
  };
  const bindOther = (node: SyntaxNode | undefined) => {
    for (const name of patternNames(template, node)) bindingOf(name).isOther = true;
  };
  for (const node of nodesOf(template, ...BINDING)) {
    const [first, second] = expressionsOf(node);
    if (node.kind === "LetBinding" && first?.kind === "Ident" && second !== undefined) {
      bindingOf(textOf(template, first)).values.push(second);
    } else if (first?.kind === "Destructuring" && second?.kind === "Array" && haveSameNumber(first, second)) {
      const values = expressionsOf(second);
      for (const [index, name] of expressionsOf(first).entries()) {
        if (name.kind === "Ident") bindingOf(textOf(template, name)).values.push(values[index] ?? second);
        else bindOther(name);
      }
    } else if (node.kind === "Binary") {
      const [left, right] = [node.children[0], node.children.at(-1)];
      const isAssignment = node.children.some(({ kind }) => kind === "Eq" || kind === "PlusEq");
      if (isAssignment && left?.kind === "Ident" && right) bindingOf(textOf(template, left)).values.push(right);
    } else if (node.kind === "LetBinding" || node.kind === "ForLoop") bindOther(first);
    else if (node.kind === "Closure") bindOther(first);
    else if (node.kind === "Params") {
      for (const one of node.children) bindOther(one.kind === "Named" ? one.children[0] : one);
    } else if (node.kind === "ImportItemPath" || node.kind === "RenamedImportItem") bindOther(node.children.at(-1));
  }
  return bindings;
}

/** `let (a, b) = (1, 2)`, without what takes the rest or is spread. */
function haveSameNumber(pattern: SyntaxNode, array: SyntaxNode): boolean {
  const all = [...expressionsOf(pattern), ...expressionsOf(array)];
  return expressionsOf(pattern).length === expressionsOf(array).length && all.every(({ kind }) => kind !== "Spread");
}

/** The names that a file binds by `let`. */
export function definedNames(template: Template): string[] {
  return nodesOf(template, "LetBinding").flatMap((node) => {
    const [pattern] = expressionsOf(node);
    return patternNames(template, pattern?.kind === "Closure" ? pattern.children[0] : pattern);
  });
}

/** Whether a file defines a function of that name itself. */
export function definesFunction(template: Template, name: string): boolean {
  const binding = bindingsOf(template).get(name);
  return binding !== undefined && (binding.isOther || binding.values.some(({ kind }) => kind === "Closure"));
}

/** An expression without the parentheses or braces around it, or the value of the one `let` that binds its name. */
export function resolved(template: Template, node: SyntaxNode, depth = 0): SyntaxNode {
  if (depth >= MAX_DEPTH) return node;
  const inner = insideOf(node);
  if (inner !== null) return resolved(template, inner, depth + 1);
  if (node.kind !== "Ident") return node;
  const binding = bindingsOf(template).get(textOf(template, node));
  const [value] = binding?.values ?? [];
  if (binding === undefined || binding.isOther || binding.values.length !== 1 || value === undefined) return node;
  return resolved(template, value, depth + 1);
}

/** Nobody binds a path to a name that is bound to a name, and so on. */
const MAX_DEPTH = 8;

function insideOf(node: SyntaxNode): SyntaxNode | null {
  if (node.kind === "Parenthesized") return expressionsOf(node)[0] ?? null;
  if (node.kind !== "CodeBlock") return null;
  const inside = expressionsOf(node).flatMap((code) => (code.kind === "Code" ? expressionsOf(code) : []));
  return inside.length === 1 ? (inside[0] ?? null) : null;
}

/** The texts that a name may stand for, if it is given several values; what is computed is not among them. */
export function possibleTexts(template: Template, node: SyntaxNode): string[] {
  const { values = [], isOther = true } =
    node.kind === "Ident" ? (bindingsOf(template).get(textOf(template, node)) ?? {}) : {};
  return isOther || values.length < 2 ? [] : values.flatMap((value) => knownText(template, value) ?? []);
}

/** The text that an expression is: a string, strings that are joined, or a name for such a text. Null if it is computed. */
export function knownText(template: Template, node: SyntaxNode, depth = 0): string | null {
  const value = resolved(template, node);
  if (value.kind === "Str") return stringValue(template, value);
  const [left, right, ...more] = expressionsOf(value);
  const isSum = value.kind === "Binary" && value.children.some(({ kind }) => kind === "Plus");
  if (!isSum || left === undefined || right === undefined || more.length > 0 || depth >= MAX_DEPTH) return null;
  const [before, after] = [knownText(template, left, depth + 1), knownText(template, right, depth + 1)];
  return before === null || after === null ? null : before + after;
}
