/** The calls of a template, and their arguments. */
import { lastName, type SyntaxNode, type Template, textOf } from "./syntax-tree.ts";

export interface Arguments {
  /** Without names, in their order; content in brackets after the parentheses is among them. */
  readonly positional: readonly SyntaxNode[];
  readonly named: ReadonlyMap<string, SyntaxNode>;
  /** Whether it is given others that are spread. */
  readonly hasSpread: boolean;
}

/** @param node a `FuncCall` or `SetRule` */
export function argumentsOf(template: Template, node: SyntaxNode): Arguments {
  const list = node.children.find(({ kind }) => kind === "Args");
  const positional: SyntaxNode[] = [];
  const named = new Map<string, SyntaxNode>();
  let hasSpread = false;
  for (const part of list === undefined ? [] : list.parts) {
    if (["LeftParen", "RightParen", "Comma", "Semicolon", "Error"].includes(part.kind)) continue;
    const [name, value] = [part.children[0], part.children.at(-1)];
    if (part.kind === "Spread") hasSpread = true;
    else if (part.kind !== "Named" || name === undefined || value === undefined) positional.push(part);
    else named.set(textOf(template, name), value);
  }
  return { positional, named, hasSpread };
}

/** The name of the function that a `FuncCall` or `SetRule` is about: the last one of `pdf.attach`; empty if it has none. */
export function calledName(template: Template, node: SyntaxNode): string {
  const callee = calleeOf(node);
  return callee === undefined ? "" : lastName(template, callee);
}

export function calleeOf(node: SyntaxNode): SyntaxNode | undefined {
  return node.kind === "SetRule" ? node.parts[1] : node.children[0];
}

/** The same of a function of Typst's own, by its name alone or as `std.name`; empty for members of anything else. */
export function calledBuiltIn(template: Template, node: SyntaxNode): string {
  const callee = calleeOf(node);
  if (callee?.kind === "Ident") return textOf(template, callee);
  return callee?.kind === "FieldAccess" && textOf(template, callee).startsWith("std.")
    ? lastName(template, callee)
    : "";
}
