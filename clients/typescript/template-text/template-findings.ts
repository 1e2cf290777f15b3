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

/** Where `sys.inputs` is read, or `sys` is taken as a whole, if anywhere; a text that binds `sys` anew has its own. */
export function findInputsUse(text: string): TemplateFinding | null {
  if (!/\bsys\b/.test(text)) return null;
  const tokens = codeTokens(text);
  let depth = 0;
  for (const [index, token] of tokens.entries()) {
    if (token.kind === "sign") depth += BRACKETS.get(token.text) ?? 0;
    if (token.kind !== "name" || token.text !== "sys" || isMember(tokens, index)) continue;
    const [before, after, member] = [tokens[index - 1], tokens[index + 1], tokens[index + 2]];
    if (before?.text === "let" || before?.text === "as") {
      if (depth <= 0) return null;
    } else if (before?.text === "import" || (after?.text === "." ? member?.text === "inputs" : after?.text !== ":")) {
      return { offset: token.offset, length: "sys".length, message: "reads sys.inputs" };
    }
  }
  return null;
}

const BRACKETS: ReadonlyMap<string, number> = new Map([
  ...["(", "[", "{"].map((open) => [open, 1] as const),
  ...[")", "]", "}"].map((close) => [close, -1] as const),
]);

/** Where the inputs are read by a name that no file can bind. */
export function findStandardInputs(text: string): TemplateFinding | null {
  if (!/\bstd\b/.test(text)) return null;
  const tokens = codeTokens(text);
  const isSys = (at: number) => tokens[at + 1]?.text === "." && tokens[at + 2]?.text === "sys";
  const index = tokens.findIndex(({ text: name }, at) => name === "std" && isSys(at));
  const found = tokens[index];
  return found === undefined ? null : { offset: found.offset, length: "std".length, message: "reads std.sys.inputs" };
}

/** The keys that a text reads of `sys.inputs`; null if it may read any. */
export function inputNames(text: string): ReadonlySet<string> | null {
  const tokens = codeTokens(text);
  const names = new Set<string>();
  for (const [index, { kind, text: name }] of tokens.entries()) {
    if (kind !== "name" || name !== "inputs") continue;
    const [before, dot, member, open, argument] = [-1, 1, 2, 3, 4].map((step) => tokens[index + step]);
    if (dot?.text === "." && member?.text === "at" && open?.text === "(" && argument?.kind === "string") {
      names.add(argument.text);
    } else if (dot?.text === "." && member?.kind === "name" && open?.text !== "(") names.add(member.text);
    else if (!isMerelyNamed(tokens, index, before)) {
      const key = keyBeforeIn(tokens, index);
      if (key === null) return null;
      names.add(key);
    }
  }
  return names.size === 0 ? null : names;
}

/** In `import sys: inputs`, to be used later. */
function isMerelyNamed(tokens: readonly CodeToken[], index: number, before: CodeToken | undefined): boolean {
  return before?.text === ":" && tokens[index - 2]?.text === "sys" && tokens[index + 1]?.text !== "as";
}

/** `"key" in sys.inputs`, `"key" in inputs`, `"key" not in inputs` */
function keyBeforeIn(tokens: readonly CodeToken[], index: number): string | null {
  let start = index;
  while (tokens[start - 1]?.text === "." && tokens[start - 2]?.kind === "name") start -= 2;
  const [word, not] = [tokens[start - 1], tokens[start - 2]];
  const key = tokens[not?.text === "not" ? start - 3 : start - 2];
  return word?.text === "in" && key?.kind === "string" ? key.text : null;
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

const OLDER_TYPST_HINT =
  "the template was written for an older Typst: the page /help/templates#older-typst of the service has what to write instead";

/** Symbols and functions that Typst 0.15 has under another name. */
const RENAMED: ReadonlyMap<string, string> = new Map([
  ["sect", "inter"],
  ["diff", "partial"],
  ["alef", "aleph"],
  ["embed", "attach"],
]);
const UNKNOWN_NAME = /^(?:unknown variable: |module `(?:sym|pdf)` does not contain `)(\w+)/;
const UNKNOWN_MODIFIER = "unknown symbol modifier";
/** As in `times.circle`, `angle.l` and `bracket.l.double`. */
const OLD_MODIFIER = /\b(?:angle\.[lr]\b|(?:bracket|brace|paren)\.[lr]\.double\b|\w+(?:\.\w+)*?\.circle\b)/;

/** The hint for an error that older templates get; null for others. @param code the lines or the expression that it is about */
export function olderTypstHint(message: string, code: string): string | null {
  const name = UNKNOWN_NAME.exec(message)?.[1] ?? "";
  const renamed = RENAMED.get(name);
  if (renamed !== undefined) return `since Typst 0.15, ${name} is ${renamed}`;
  const [old] = (message === UNKNOWN_MODIFIER && OLD_MODIFIER.exec(code)) || [];
  if (old !== undefined) return `since Typst 0.15, ${old} is ${newModifier(old)}`;
  if (message === "expected path or string, found array" && /\bpath\(/.test(code)) {
    return "since Typst 0.15, what path drew is drawn by curve, with other arguments";
  }
  const isOlder = OF_OLDER_TYPST.test(message) || (message.startsWith(NO_SELECTOR) && /\blocate\b/.test(code));
  return isOlder ? OLDER_TYPST_HINT : null;
}

function newModifier(old: string): string {
  return old
    .replace(/^angle/, "chevron")
    .replace(/\.circle$/, ".o")
    .replace(/\.double$/, ".stroked");
}

/** The names of all members, at any depth. @param json the data */
export function memberNames(json: string): string[] {
  return [...new Set(Array.from(json.matchAll(/"([^"\\]{1,200})"\s*:/g), ([, name = ""]) => name))];
}

export function lineAt(text: string, offset: number): number {
  return text.slice(0, offset).split("\n").length;
}
