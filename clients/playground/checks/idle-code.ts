/** Code that does nothing: rules at the end of their block, functions that nobody calls, values named within quotes. */
import { type CodeToken, codeTokens } from "../../typescript/template-text/code-tokens.ts";
import type { TemplateFinding } from "../../typescript/template-text/template-findings.ts";

const NEEDS_CALL: ReadonlySet<string> = new Set(["pagebreak", "colbreak", "linebreak", "outline"]);
const NOTHING_FOLLOWS = "has no effect: the rule is for what follows in its block, and nothing does.";
/** These have an effect even there. */
const OF_DOCUMENT: ReadonlySet<string> = new Set(["page", "document"]);

export function findIdleCode(text: string): TemplateFinding[] {
  const tokens = codeTokens(text).filter(({ kind }) => kind !== "end");
  const isEvaluated = tokens.some(({ text: name }) => name === "eval");
  return tokens.flatMap((token, index) => {
    if (token.kind === "string" && tokens[index - 2]?.text === "display") return datePattern(token) ?? [];
    if (token.kind === "string") return isEvaluated ? [] : (codeInString(token) ?? []);
    return uncalled(text, token) ?? ruleAtEnd(text, tokens, index) ?? [];
  });
}

function codeInString({ text, offset }: CodeToken): TemplateFinding | null {
  const found = /#(?:data|request)\.[\p{L}_][\w.-]*/u.exec(text);
  if (found === null) return null;
  const message = "is shown as it stands within quotes: put a text with values in [ … ].";
  return { offset: offset + 1 + found.index, length: found[0].length, message };
}

function datePattern({ text, offset }: CodeToken): TemplateFinding | null {
  if (!/%[dmyHM]|\b(?:DD?|MM|YYYY|dd?|yyyy)\b/i.test(text) || text.includes("[")) return null;
  const message = "is shown as it stands: the parts of a date are [day], [month] and [year].";
  return { offset: offset + 1, length: text.length, message };
}

function uncalled(text: string, { kind, text: name, offset }: CodeToken): TemplateFinding | null {
  if (kind !== "name" || !NEEDS_CALL.has(name) || text[offset - 1] !== "#") return null;
  if (/[(.[]/.test(text[offset + name.length] ?? "") || new RegExp(`\\blet\\s+${name}\\b`).test(text)) return null;
  return { offset, length: name.length, message: `shows this word: write #${name}().` };
}

/** @param index of what may close a block */
function ruleAtEnd(text: string, tokens: readonly CodeToken[], index: number): TemplateFinding | null {
  const [last, close] = [tokens[index - 1], tokens[index]];
  if (!isSign(close, "}") && !isSign(close, "]")) return null;
  if (close === undefined || last === undefined || !isSign(last, ")")) return null;
  if (text.slice(last.offset + 1, close.offset).trim() !== "") return null;
  let name = opening(tokens, index - 1) - 1;
  while (isSign(tokens[name - 1], ".")) name -= 2;
  const keyword = tokens[name - 1];
  if (keyword?.kind !== "name" || keyword.text !== "set" || OF_DOCUMENT.has(tokens[name]?.text ?? "")) return null;
  return { offset: keyword.offset, length: last.offset + 1 - keyword.offset, message: NOTHING_FOLLOWS };
}

function opening(tokens: readonly CodeToken[], close: number): number {
  let depth = 0;
  for (let index = close; index >= 0; index--) {
    if (isSign(tokens[index], ")")) depth++;
    if (isSign(tokens[index], "(") && --depth === 0) return index;
  }
  return 0;
}

function isSign(token: CodeToken | undefined, sign: string): boolean {
  return token?.kind === "sign" && token.text === sign;
}
