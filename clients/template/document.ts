/** Whether a template is a document, rather than a library of definitions for others. */
import type { Kind, Template } from "./syntax-tree.ts";

/** What shows nothing by itself. */
const DEFINITIONS: ReadonlySet<Kind> = new Set([
  ...(["LetBinding", "ModuleImport", "SetRule", "Space", "Parbreak", "LineComment", "BlockComment"] as const),
  ...(["Hash", "Semicolon", "Shebang", "Label", "Error", "End"] as const),
]);

/** Whether it has text, or applies a template: definitions alone have neither. */
export function isDocument({ root }: Template): boolean {
  return root.children.some(({ kind }) => !DEFINITIONS.has(kind));
}
