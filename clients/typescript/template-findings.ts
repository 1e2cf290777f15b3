/**
 * What renders without an error and gives another document than its author expects: a template that reads `sys.inputs`,
 * which is empty in the service, or a file of its own instead of `data`, or that was written for an older Typst.
 */
import { type CodeToken, codeTokens } from "./code-tokens.ts";

export interface TemplateFinding {
  readonly offset: number;
  readonly length: number;
  /** A sentence without its beginning, which is the place: "reads sys.inputs, …". */
  readonly message: string;
}

/** Where `sys.inputs` is read, if anywhere; a text that binds `sys` anew has its own. */
export function findInputsUse(text: string): TemplateFinding | null {
  if (!/\bsys\b/.test(text)) return null;
  const tokens = codeTokens(text);
  for (const [index, token] of tokens.entries()) {
    if (token.kind !== "name" || token.text !== "sys" || isMember(tokens, index)) continue;
    if (tokens[index - 1]?.text === "let") return null;
    const [dot, member] = [tokens[index + 1]?.text, tokens[index + 2]?.text];
    if (tokens[index - 1]?.text !== "import" && (dot !== "." || member !== "inputs")) continue;
    return { offset: token.offset, length: "sys".length, message: "reads sys.inputs" };
  }
  return null;
}

/** `std.sys` is a member, too, but no other name is. */
function isMember(tokens: readonly CodeToken[], index: number): boolean {
  return tokens[index - 1]?.text === "." && tokens[index - 2]?.text !== "std";
}

const READERS: ReadonlySet<string> = new Set(["json", "yaml", "toml", "csv", "cbor", "xml", "read"]);
/** The name by which all files of a project can read the data of the request. */
const DATA_OF_REQUEST = /^\/:data\.json$/;
const DATA_FILE = /\.(?:json|ya?ml|toml|csv|tsv|cbor|xml|txt)$/i;

/** The first file of data that a text reads. Texts that are computed, or come by `sys.inputs`, are none. */
export function findDataFile(text: string): TemplateFinding | null {
  const tokens = codeTokens(text);
  for (const [index, token] of tokens.entries()) {
    if (token.kind !== "name" || !READERS.has(token.text) || isMember(tokens, index)) continue;
    const [bracket, argument] = [tokens[index + 1], tokens[index + 2]];
    if (bracket?.text !== "(" || argument?.kind !== "string" || !DATA_FILE.test(argument.text)) continue;
    if (DATA_OF_REQUEST.test(argument.text)) continue;
    return { offset: token.offset, length: token.text.length, message: `reads the file ${argument.text}` };
  }
  return null;
}

/** Whether a text, the source or another file of a project, reads the data of the request as a file. */
export function readsDataFile(text: string): boolean {
  return text.includes(":data.json") && codeTokens(text).some((token) => DATA_OF_REQUEST.test(token.text));
}

/**
 * Whether a source uses the data of its request: by one of its two names, before it gives that another meaning. Text
 * that is evaluated may use anything.
 */
export function usesData(source: string): boolean {
  const names = new Set(["data", "request"]);
  const tokens = codeTokens(source);
  for (let index = 0; index < tokens.length; index++) {
    const { kind, text, isOutermost } = tokens[index] ?? { kind: "end", text: "", isOutermost: true };
    if (kind !== "name") continue;
    if (text === "eval" && !isMember(tokens, index)) return true;
    const isStatement = isOutermost && (tokens[index - 1]?.kind ?? "end") === "end";
    if (isStatement && (text === "let" || text === "import")) {
      const statement = tokens.slice(index, statementEnd(tokens, index));
      const own = parameters(statement);
      const free = new Set([...names].filter((name) => !own.includes(name)));
      if (text === "let" && statement.some((_, at) => isUse(statement, at, free))) return true;
      for (const name of boundNames(statement)) names.delete(name);
      index += statement.length;
      continue;
    }
    if (isUse(tokens, index, names)) return true;
  }
  return false;
}

/** A name before a colon is that of an argument or a member. */
function isUse(tokens: readonly CodeToken[], index: number, names: ReadonlySet<string>): boolean {
  const token = tokens[index];
  if (token?.kind !== "name" || !names.has(token.text) || tokens[index + 1]?.text === ":") return false;
  return tokens[index - 1]?.text !== "." && tokens[index - 1]?.text !== "let";
}

/** What `#let name = …` or `#import "file": name, name` binds. */
function boundNames(statement: readonly CodeToken[]): string[] {
  const [keyword, name, sign] = statement;
  if (keyword?.text === "let") return name !== undefined && sign?.text === "=" ? [name.text] : [];
  const colon = statement.findIndex(({ text }) => text === ":");
  return colon === -1 ? [] : statement.slice(colon + 1).map(({ text }) => text);
}

/** Those of `#let name(one, other) = …`, but for those with a default value, which may be the data itself. */
function parameters([keyword, , open, ...rest]: readonly CodeToken[]): string[] {
  if (keyword?.text !== "let" || open?.text !== "(") return [];
  const close = rest.findIndex(({ text }) => text === ")");
  return rest.slice(0, close).flatMap(({ text }, at) => {
    return rest[at - 1]?.text !== ":" && /^[,)]$/.test(rest[at + 1]?.text ?? "") ? [text] : [];
  });
}

function statementEnd(tokens: readonly CodeToken[], index: number): number {
  let end = index;
  while (end < tokens.length && !(tokens[end]?.kind === "end" && tokens[end]?.isOutermost)) end++;
  return end;
}

/** The names of types as strings, to which `type` no longer equals: those of Typst 0.7, and the later short ones. */
const TYPES: ReadonlyMap<string, string> = new Map(
  Object.entries({
    boolean: "bool",
    integer: "int",
    string: "str",
    "relative length": "relative",
    "2d alignment": "alignment",
    pattern: "tiling",
    color: "color",
  }).concat(
    (
      "bool int float str bytes array dictionary content function arguments length ratio relative angle fraction " +
      "gradient tiling stroke symbol label regex selector version datetime duration decimal alignment direction " +
      "counter state location module"
    )
      .split(" ")
      .map((name) => [name, name]),
  ),
);
const SINGLE_VALUES: ReadonlySet<string> = new Set(["none", "auto"]);
const MAX_SHOWN = 40;

/** Comparisons of a type with a string, which are always false since Typst 0.14, and no error. */
export function findOldTypeNames(text: string): TemplateFinding[] {
  if (!/\btype\s*\(/.test(text)) return [];
  const tokens = codeTokens(text);
  return tokens.flatMap((token, index): TemplateFinding[] => {
    if (token.kind !== "name" || token.text !== "type" || isMember(tokens, index)) return [];
    const end = closingBracket(tokens, index + 1);
    const last = tokens[end];
    if (last === undefined) return [];
    const value = text.slice((tokens[index + 1]?.offset ?? 0) + 1, last.offset);
    const shown = value.length > MAX_SHOWN || value.includes("\n") ? "…" : value;
    const [before, sign] = [tokens[index - 2], tokens[index - 1]];
    const found =
      describeComparison(shown, tokens[end + 1], tokens[end + 2]) ??
      describeList(shown, tokens.slice(end + 1, end + 5)) ??
      describeComparison(shown, sign, before);
    if (found === null) return [];
    return [{ offset: token.offset, length: last.offset + 1 - token.offset, message: found }];
  });
}

/** No argument of `type` has more tokens: a bracket that is never closed ends here. */
const MAX_ARGUMENT_TOKENS = 200;

/** The index of the bracket that closes the one at `open`; -1 if there is none. */
function closingBracket(tokens: readonly CodeToken[], open: number): number {
  if (tokens[open]?.text !== "(") return -1;
  let depth = 0;
  for (let index = open; index < Math.min(tokens.length, open + MAX_ARGUMENT_TOKENS); index++) {
    const { kind, text } = tokens[index] ?? { kind: "end", text: "" };
    if (kind === "sign" && text === "(") depth++;
    if (kind === "sign" && text === ")" && --depth === 0) return index;
  }
  return -1;
}

function describeComparison(shown: string, sign: CodeToken | undefined, name: CodeToken | undefined): string | null {
  if (name?.kind !== "string" || (sign?.text !== "==" && sign?.text !== "!=")) return null;
  const type = TYPES.get(name.text);
  if (type === undefined && !SINGLE_VALUES.has(name.text)) return null;
  const instead = type === undefined ? `${shown} ${sign.text} ${name.text}` : `type(${shown}) ${sign.text} ${type}`;
  const verdict = sign.text === "==" ? "false" : "true";
  return `type(${shown}) ${sign.text} "${name.text}" is always ${verdict} since Typst 0.14: write ${instead}`;
}

/** `type(x) in ("string", "integer")` */
function describeList(shown: string, [word, open, first, next]: readonly CodeToken[]): string | null {
  if (word?.text !== "in" || open?.text !== "(" || first?.kind !== "string" || next?.text !== ",") return null;
  const type = TYPES.get(first.text);
  if (type === undefined) return null;
  return `type(${shown}) in ("${first.text}", …) is always false since Typst 0.14: write type(${shown}) in (${type}, …)`;
}

/** What Typst says of a template that was written for an older one. */
const OF_OLDER_TYPST =
  /^(?:function `(?:json|yaml|toml|csv|xml|cbor|image)` does not contain field `decode`|type state has no method `display`|unknown variable: (?:style|loc|pattern)$)/;
const NO_SELECTOR = "only element functions can be used as selectors";

export const OLDER_TYPST_HINT =
  "the template was written for an older Typst: docs/templates.md, Older Typst, has what to write instead";

/** Whether an error of Typst is one that older templates get. @param code the lines or the expression that it is about */
export function isOfOlderTypst(message: string, code: string): boolean {
  return OF_OLDER_TYPST.test(message) || (message.startsWith(NO_SELECTOR) && /\blocate\b/.test(code));
}

export function lineAt(text: string, offset: number): number {
  return text.slice(0, offset).split("\n").length;
}
