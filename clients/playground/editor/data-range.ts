/** Ranges of an editor's text: where a value of `data` is. */
import { syntaxTree } from "@codemirror/language";
import type { EditorState } from "@codemirror/state";
import type { SyntaxNode } from "@lezer/common";
import { parseJson } from "../../typescript/transport.ts";

export interface TextRange {
  readonly from: number;
  readonly to: number;
}

/** The range of the value at a path, or of the innermost container on that path that exists. */
export function rangeOfPath(state: EditorState, path: readonly (string | number)[]): TextRange {
  let node: SyntaxNode = syntaxTree(state).topNode.firstChild ?? syntaxTree(state).topNode;
  const isNamed = ({ from, to }: SyntaxNode, name: string) => parseJson(state.sliceDoc(from, to)) === name;
  for (const segment of path) {
    const values = childrenOf(node).filter(({ name }) => !/^[[\]{},]$/.test(name));
    const next: SyntaxNode | null | undefined =
      typeof segment === "number"
        ? values[segment]
        : values.find(({ firstChild }) => firstChild !== null && isNamed(firstChild, segment))?.lastChild;
    if (!next) break;
    node = next;
  }
  return { from: node.from, to: node.to };
}

function childrenOf(node: SyntaxNode): SyntaxNode[] {
  const children: SyntaxNode[] = [];
  for (let child = node.firstChild; child !== null; child = child.nextSibling) children.push(child);
  return children;
}
