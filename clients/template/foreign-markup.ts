/** Markup of other languages in a Typst text: it is no mistake for Typst, which shows it as it stands. */
import { calledName } from "./calls.ts";
import type { KnownData } from "./data-mistakes.ts";
import { blanked, expressionsOf, nodesOf, stringValue, type Template } from "./syntax-tree.ts";
import type { TemplateFinding } from "./template-findings.ts";

const MAX_FOUND = 5;

const FOREIGN = [
  { pattern: /\{\{\s*[\w.-]+\s*\}\}/g, message: "is shown as it stands: a value of the data is #data.name." },
  {
    pattern: /(?<!\{)\{\s*(?:data|request)\.[\w.-]+\s*\}(?!\})|<%[=-]?[^%\n]*%>/g,
    message: "is shown as it stands: a value of the data is #data.name.",
  },
  { pattern: /\*\*[^*\n]+\*\*/g, message: "is not bold: bold text stands between single *." },
  {
    pattern: /!\[[^[\]\n]{0,200}\]\([^()\n]{1,200}\)/g,
    message: 'is shown as it stands: an image is #image("logo.png").',
  },
  {
    pattern: /(?<!!)\[[^[\]\n]+\]\(https?:[^()\s]+\)/g,
    message: 'is shown as it stands: a link is #link("https://…")[text].',
  },
  {
    pattern: /^\|.*\|[ \t]*\n\|[ :|-]+\|/gm,
    message: "is shown as it stands: a table is #table(columns: 2, [a], [b]).",
  },
  { pattern: /^\* +\S.*(?=\n\* )/gm, message: "begins strong text: an item of a list begins with - instead." },
  {
    pattern: /<br ?\/?>|<\/(?:[bipua]|h[1-6]|div|span|strong|em|ul|ol|li|table|tr|td|th)>/g,
    message: "is no markup here: *strong*, _emphasis_, - for lists, \\ for a new line.",
  },
  {
    pattern: /(?<=[\]}]\s{0,20})\b(?:elseif|elif)\b(?=[^\n]{0,200}[[{])/g,
    message: "is shown as it stands: write else if.",
  },
  {
    pattern:
      /(?<!\\)\\(?:text\w{2}|emph|begin|end|(?:sub)*section|item|documentclass|usepackage|includegraphics|newpage|[vh]space|cite|ref|label|caption|footnote|centering|newline|maketitle|tableofcontents)\b/g,
    message: "is a command of LaTeX, and is shown as it stands.",
  },
  {
    // Two words beside each other are prose: "let x = 5 in this proof".
    pattern:
      /^(?:set (?:page|text|par|document|heading|table)\(|let [a-z][\w-]* = (?!.*\p{L}{2} \p{L}{2})|import ")/gmu,
    message: "is shown as it stands: in text, code begins with #.",
  },
  {
    pattern:
      /^(?:for [\w(][\w, ()]{0,80} in (?:data|request)[\w.-]*(?=\s?[[{:])|(?:if|while) (?:not )?(?:data|request)\.[^\n[{]*)/gm,
    message: "is shown as it stands: in text, code begins with #.",
  },
  { pattern: /^=+(?=\p{L})\p{L}*/gmu, message: "is no heading: a space follows the =." },
] as const;

/** Where code is part of it. */
const FOREIGN_WITH_CODE = [
  { pattern: /\$\$[^$\n]+\$\$/g, message: "is no formula: one that stands alone is $ x + y $, with its spaces." },
  {
    pattern: /(?<=\$[^$\n]{0,200})[_^]\{[^{}$\n]{0,200}\}/g,
    message: "shows its braces: parentheses keep it together, as in x^(10).",
  },
  { pattern: /#[\p{L}_][\w-]* [-+]= /gu, message: "is shown as it stands: a value changes in #{ … }." },
  {
    pattern: /#(?:data|request)\.[\w.-]*\?\.[a-z_]/gi,
    message: 'is read to the ? only: what may be missing is .at("name", default: none).',
  },
  { pattern: /#(?:data|request)\.\d/g, message: 'is not read to its end: a member of digits is data.at("2026").' },
] as const;

const BARE_VALUE = /(?<![\p{L}\p{N}_#./\\-]|\{\s{0,20})data\.([\p{L}_][\p{L}\p{N}_-]*)/gu;

const HIDDEN = ["LineComment", "BlockComment", "Raw"] as const;
/** What is code, or in a string of it. */
const CODE = [
  ...(["Ident", "Str", "Bool", "Int", "Float", "Numeric", "None", "Auto", "Let", "Set", "Show", "Import"] as const),
  ...(["Include", "If", "Else", "For", "While", "Return", "Context", "MathIdent", "LeftBrace", "RightBrace"] as const),
  ...(["Eq", "Plus", "Minus", "Slash", "Arrow", "Comma", "LeftParen", "RightParen"] as const),
] as const;

/** @param data whose members are values without a `#` in front of them, too */
export function findForeignMarkup(template: Template, { members }: KnownData): TemplateFinding[] {
  const shown = blanked(template, HIDDEN);
  const prose = blanked(template, [...HIDDEN, "Equation"]);
  const findIn =
    (text: string) =>
    ({ pattern, message }: (typeof FOREIGN | typeof FOREIGN_WITH_CODE)[number]) =>
      [...text.matchAll(pattern)].map(({ index, 0: { length } }) => ({ offset: index, length, message }));
  const bare = [...shown.matchAll(BARE_VALUE)]
    .filter(([, name = ""]) => members.has(name))
    .map(({ index, 0: { length } }) => ({ offset: index, length, message: FOREIGN[0].message }));
  // What a rule looks for is there for it.
  const selectors = nodesOf(template, "ShowRule").flatMap((rule) => expressionsOf(rule).slice(0, 1));
  const sought = new Set(selectors.map((one) => (one.kind === "Str" ? stringValue(template, one) : "")));
  const hasPattern = selectors.some((one) => one.kind === "FuncCall" && calledName(template, one) === "regex");
  const isSought = ({ offset, length }: TemplateFinding) => {
    const found = shown.slice(offset, offset + length);
    return sought.has(found) || (hasPattern && /^[{<]/.test(found));
  };
  const matches = [...FOREIGN.flatMap(findIn(prose)), ...bare].filter((found) => !isSought(found));
  const withCode = FOREIGN_WITH_CODE.flatMap(findIn(shown));
  if (matches.length === 0) return withCode.slice(0, MAX_FOUND);
  const withoutCode = blanked(template, CODE);
  const isText = ({ offset, length }: TemplateFinding) =>
    withoutCode.slice(offset, offset + length) === template.text.slice(offset, offset + length);
  return [...matches.filter(isText), ...withCode].slice(0, MAX_FOUND);
}
