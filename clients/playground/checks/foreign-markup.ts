/** Markup of other languages in a Typst text: it is no mistake for Typst, which shows it as it stands. */
import { codeTokens } from "../../typescript/template-text/code-tokens.ts";
import type { TemplateFinding } from "../../typescript/template-text/template-findings.ts";
import { removeCommentsAndRawText } from "../../typescript/template-text/typst-text.ts";

const MAX_FOUND = 5;

const FOREIGN = [
  { pattern: /\{\{\s*[\w.-]+\s*\}\}/g, message: "is shown as it stands: a value of the data is #data.name." },
  { pattern: /\*\*[^*\n]+\*\*/g, message: "is not bold: bold text stands between single *." },
  {
    pattern: /\\(?:textbf|textit|emph|begin|section|item|documentclass|usepackage)\b/g,
    message: "is a command of LaTeX, and is shown as it stands.",
  },
  {
    pattern: /^(?:set (?:page|text|par|document|heading|table)\(|let [a-z][\w-]* = |import ")/gm,
    message: "is shown as it stands: in text, code begins with #.",
  },
] as const;

export function findForeignMarkup(text: string): TemplateFinding[] {
  const shown = removeCommentsAndRawText(text);
  const matches = FOREIGN.flatMap(({ pattern, message }) =>
    [...shown.matchAll(pattern)].map(({ index, 0: { length } }) => ({ offset: index, length, message })),
  );
  if (matches.length === 0) return [];
  const code = codeTokens(text).filter(({ kind }) => kind !== "end");
  // What has a token in it is code, or in a string of it.
  const isCode = ({ offset, length }: TemplateFinding) =>
    code.some((token) => token.offset < offset + length && token.offset + Math.max(1, token.text.length) > offset);
  return matches.filter((match) => !isCode(match)).slice(0, MAX_FOUND);
}
