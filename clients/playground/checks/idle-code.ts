/** Code that does nothing: rules at the end of their block, functions that nobody calls, values named within quotes. */
import { bindingsOf } from "../../template/bindings.ts";
import { calledName } from "../../template/calls.ts";
import {
  hasName,
  nodesOf,
  partsOf,
  type SyntaxNode,
  stringValue,
  type Template,
  textOf,
} from "../../template/syntax-tree.ts";
import type { TemplateFinding } from "../../template/template-findings.ts";

const NEEDS_CALL: ReadonlySet<string> = new Set(["pagebreak", "colbreak", "linebreak", "outline"]);
const NOTHING_FOLLOWS = "has no effect: the rule is for what follows in its block, and nothing does.";
/** These have an effect even there. */
const OF_DOCUMENT: ReadonlySet<string> = new Set(["page", "document"]);
const EVAL: ReadonlySet<string> = new Set(["eval"]);

export function findIdleCode(template: Template): TemplateFinding[] {
  const isEvaluated = hasName(template, EVAL);
  return nodesOf(template, "Str", "Ident", "CodeBlock", "ContentBlock").flatMap((node) => {
    if (node.kind === "Str") return inString(template, node, isEvaluated) ?? [];
    return (node.kind === "Ident" ? uncalled(template, node) : ruleAtEnd(template, node)) ?? [];
  });
}

function inString(template: Template, node: SyntaxNode, isEvaluated: boolean): TemplateFinding | null {
  const call = node.parent?.kind === "Args" ? node.parent.parent : null;
  if (call !== null && calledName(template, call) === "display") return datePattern(template, node);
  return isEvaluated ? null : codeInString(template, node);
}

function codeInString(template: Template, node: SyntaxNode): TemplateFinding | null {
  const found = /#(?:data|request)\.[\p{L}_][\w.-]*/u.exec(textOf(template, node));
  if (found === null) return null;
  const message = "is shown as it stands within quotes: put a text with values in [ … ].";
  return { offset: node.start + found.index, length: found[0].length, message };
}

function datePattern(template: Template, node: SyntaxNode): TemplateFinding | null {
  const pattern = stringValue(template, node);
  if (!/%[dmyHM]|\b(?:DD?|MM|YYYY|dd?|yyyy)\b/i.test(pattern) || pattern.includes("[")) return null;
  const message = "is shown as it stands: the parts of a date are [day], [month] and [year].";
  return { offset: node.start + 1, length: node.end - node.start - 2, message };
}

/** `#pagebreak` alone, in markup. */
function uncalled(template: Template, node: SyntaxNode): TemplateFinding | null {
  const name = textOf(template, node);
  if (node.parent?.kind !== "Markup" || !NEEDS_CALL.has(name)) return null;
  if (bindingsOf(template).has(name)) return null;
  return { offset: node.start, length: name.length, message: `shows this word: write #${name}().` };
}

/** The last statement of a block. */
function ruleAtEnd(template: Template, node: SyntaxNode): TemplateFinding | null {
  const inside = partsOf(node).find(({ kind }) => kind === "Code" || kind === "Markup");
  const last = inside?.children.filter(({ kind }) => kind !== "Space").at(-1);
  if (last?.kind !== "SetRule" || OF_DOCUMENT.has(calledName(template, last))) return null;
  return { offset: last.start, length: last.end - last.start, message: NOTHING_FOLLOWS };
}
