/** Code that does nothing: rules at the end of their block, functions that nobody calls, values named within quotes, updates that nobody places. */
import { bindingsOf, resolved } from "./bindings.ts";
import { calledBuiltIn, calledName, calleeOf } from "./calls.ts";
import { expressionsOf, hasName, nodesOf, type SyntaxNode, stringValue, type Template, textOf } from "./syntax-tree.ts";
import { findingAt, type TemplateFinding } from "./template-findings.ts";

const NEEDS_CALL: ReadonlySet<string> = new Set(["pagebreak", "colbreak", "linebreak", "outline"]);
const NOTHING_FOLLOWS = "has no effect: the rule is for what follows in its block, and nothing does.";
/** These have an effect even there. */
const OF_DOCUMENT: ReadonlySet<string> = new Set(["page", "document"]);
const EVAL: ReadonlySet<string> = new Set(["eval"]);

/** @param isSource no other file uses what this one defines */
export function findIdleCode(template: Template, isSource: boolean): TemplateFinding[] {
  const isEvaluated = hasName(template, EVAL);
  return nodesOf(template, "Str", "Ident", "LetBinding", "SetRule").flatMap((node) => {
    if (node.kind === "Str") return inString(template, node, isEvaluated) ?? [];
    if (node.kind === "LetBinding") return (isSource ? unplacedUpdate(template, node) : null) ?? [];
    return (node.kind === "Ident" ? uncalled(template, node) : ruleAtEnd(template, node)) ?? [];
  });
}

function inString(template: Template, node: SyntaxNode, isEvaluated: boolean): TemplateFinding | null {
  const call = node.parent?.kind === "Args" ? node.parent.parent : null;
  if (call !== null && calledName(template, call) === "display") return datePattern(template, node);
  const isShownAsCode = call !== null && calledName(template, call) === "raw";
  return isEvaluated || isShownAsCode ? null : codeInString(template, node);
}

function codeInString(template: Template, node: SyntaxNode): TemplateFinding | null {
  const found = /#(?:data|request)\.[\p{L}_][\w.-]*|\$\{\s*(?:data|request)\b[^{}]*\}/u.exec(textOf(template, node));
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
  if (!NEEDS_CALL.has(name) || node.parent?.kind !== "Markup") return null;
  if (bindingsOf(template).has(name)) return null;
  return findingAt(node, `shows this word: write #${name}().`);
}

const AT_END: ReadonlySet<string> = new Set(["SetRule", "Space", "Hash"]);

/** Among the last statements of a block. */
function ruleAtEnd(template: Template, rule: SyntaxNode): TemplateFinding | null {
  const inside = rule.parent;
  const block = inside?.parent;
  if (!inside || (block?.kind !== "CodeBlock" && block?.kind !== "ContentBlock")) return null;
  // Whoever asks such a block for a member knows what it is.
  if (block.parent?.kind === "FieldAccess" || OF_DOCUMENT.has(calledName(template, rule))) return null;
  const isLast = inside.children.slice(inside.children.indexOf(rule)).every(({ kind }) => AT_END.has(kind));
  return isLast ? findingAt(rule, NOTHING_FOLLOWS) : null;
}

const COUNTING: ReadonlySet<string> = new Set(["state", "counter"]);

/** `let x = total.update(…)`, where nothing reads `x`. */
function unplacedUpdate(template: Template, node: SyntaxNode): TemplateFinding | null {
  const [name, value] = expressionsOf(node);
  const callee = value?.kind === "FuncCall" ? calleeOf(value) : undefined;
  if (name === undefined || value === undefined || callee?.kind !== "FieldAccess") return null;
  if (name.kind !== "Ident" && name.kind !== "Underscore") return null;
  if (!/^(?:update|step)$/.test(calledName(template, value))) return null;
  const counting = resolved(template, callee.children[0] ?? callee);
  if (counting.kind !== "FuncCall" || !COUNTING.has(calledBuiltIn(template, counting))) return null;
  if ((namesIn(template).get(textOf(template, name)) ?? 0) > 1) return null;
  return findingAt(
    value,
    "has no effect: an update counts where it is placed in the document, and this one goes into a name.",
  );
}

const counted = new WeakMap<Template, ReadonlyMap<string, number>>();

/** How often each name is written. */
function namesIn(template: Template): ReadonlyMap<string, number> {
  const known = counted.get(template);
  if (known !== undefined) return known;
  const counts = new Map<string, number>();
  for (const node of [...nodesOf(template, "Ident"), ...nodesOf(template, "MathIdent")]) {
    const name = textOf(template, node);
    counts.set(name, (counts.get(name) ?? 0) + 1);
  }
  counted.set(template, counts);
  return counts;
}
