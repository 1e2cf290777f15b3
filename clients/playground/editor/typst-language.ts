/** Highlights Typst. The only package for that is a WebAssembly module of 320 KB, which the page's policy forbids. */
import { StreamLanguage } from "@codemirror/language";
import { type Rule, simpleMode } from "@codemirror/legacy-modes/mode/simple-mode";
import { tags } from "@lezer/highlight";

const NAME = String.raw`[\p{L}_][\p{L}\p{N}_-]*`;
const STATEMENT = "(?:let|set|show|import|include|if|for|while|return|context)(?![\\w-])";
const KEYWORD =
  /(?:let|set|show|context|import|include|if|else|for|while|break|continue|return|as|in|not|and|or)(?![\w-])/;
const CONSTANT: Rule = { regex: /(?:none|auto|true|false)(?![\w-])/, token: "literal" };
const NUMBER = /(?:0x[\da-f]+|0b[01]+|0o[0-7]+|\d+(?:\.\d+)?(?:e[+-]?\d+)?|\.\d+)(?:pt|mm|cm|in|em|fr|deg|rad|%)?/i;
const LABEL: Rule = { regex: /<[\p{L}_][\p{L}\p{N}_:.-]*>/u, token: "labelName" };
const STRING: Rule = { regex: /"/, token: "string", push: "string" };

/** A statement or chain ends with its line, and before the bracket that closes the content around it. */
const ENDS: readonly Rule[] = [
  { sol: true, regex: /(?:)/, pop: true },
  { regex: /(?=\])/, pop: true },
];

const COMMENTS_AND_RAW: readonly Rule[] = [
  { regex: /\/\/.*/, token: "comment" },
  { regex: /\/\*/, token: "comment", push: "comment" },
  { regex: /`{3,}/, token: "monospace", push: "rawBlock" },
  { regex: /``/, token: "monospace" },
  { regex: /`/, token: "monospace", push: "raw" },
];

const OPENING: readonly Rule[] = [
  { regex: /[({]/, token: "bracket", push: "code" },
  { regex: /\[/, token: "bracket", push: "start" },
];

const NAMES: readonly Rule[] = [
  { regex: new RegExp(`(\\.)(${NAME})(?=[([])`, "u"), token: ["punctuation", "functionName"] },
  { regex: new RegExp(`(\\.)(${NAME})`, "u"), token: ["punctuation", "propertyName"] },
  { regex: new RegExp(`${NAME}(?=[([])`, "u"), token: "functionName" },
  { regex: new RegExp(NAME, "u"), token: "variableName" },
];

const CODE: readonly Rule[] = [
  ...COMMENTS_AND_RAW,
  { regex: /\s+/ },
  { regex: KEYWORD, token: "keyword" },
  CONSTANT,
  { regex: NUMBER, token: "number" },
  LABEL,
  { regex: /\.\./, token: "operator" },
  ...NAMES,
  STRING,
  { regex: /\$/, token: "controlKeyword", push: "math" },
  ...OPENING,
];

const OPERATOR: Rule = { regex: /.[=+\-*/<>!.]*/u, token: "operator" };

function markup(style: string | null): Rule[] {
  return [
    ...COMMENTS_AND_RAW,
    { regex: /\\(?:u\{[\da-f]+\}|.)?/iu, token: "escape" },
    { regex: /https?:\/\/[^\s\])]+/, token: "link" },
    LABEL,
    { regex: /@[\p{L}_][\p{L}\p{N}_:.-]*/u, token: "labelName" },
    { regex: new RegExp(`#(?=${STATEMENT})`), token: "controlKeyword", push: "line" },
    { regex: /#/, token: "controlKeyword", push: "chain" },
    { regex: /\$/, token: "controlKeyword", push: "math" },
    // Only with its end in the same line: a lone one would colour all that follows.
    { regex: /\*(?=[^*]+\*)/, token: "strong", push: "strong" },
    { regex: /_(?=[^_]+_)/, token: "emphasis", push: "emphasis" },
    { regex: /\[/, token: style, push: "start" },
    { regex: /\]/, token: "bracket", pop: true },
    { regex: /.[^\\#$*_[\]<@`/h]*/u, token: style },
  ];
}

const mode = simpleMode({
  start: [
    { sol: true, regex: /\s*=+(?=\s)/, token: "heading", push: "heading" },
    { sol: true, regex: /\s*(?:[-+/]|\d+\.)(?=\s)/, token: "list" },
    ...markup(null),
  ],
  heading: [...ENDS, ...markup("heading")],
  strong: [...ENDS, { regex: /\*/, token: "strong", pop: true }, ...markup("strong")],
  emphasis: [...ENDS, { regex: /_/, token: "emphasis", pop: true }, ...markup("emphasis")],
  code: [
    { regex: new RegExp(`${NAME}(?=\\s*:(?!:))`, "u"), token: "propertyName" },
    ...CODE,
    { regex: /[)}]/, token: "bracket", pop: true },
    OPERATOR,
  ],
  /** After `#let` and the like. */
  line: [...ENDS, { regex: /;/, token: "punctuation", pop: true }, ...CODE, OPERATOR],
  /** `#name.field(…)[…]`, as long as nothing else comes between. */
  chain: [
    ...ENDS,
    CONSTANT,
    ...NAMES,
    ...OPENING,
    { regex: /"/, token: "string", next: "string" },
    { regex: NUMBER, token: "number", pop: true },
    { regex: /;/, token: "punctuation", pop: true },
    { regex: /(?:)/, pop: true },
  ],
  math: [
    ...COMMENTS_AND_RAW,
    { regex: /\\./, token: "escape" },
    { regex: /\p{L}+/u, token: "variableName" },
    { regex: NUMBER, token: "number" },
    STRING,
    { regex: /\$/, token: "controlKeyword", pop: true },
    { regex: /#/, token: "controlKeyword", push: "chain" },
    { regex: /[^\s]/u, token: "operator" },
  ],
  string: [
    { regex: /(?:[^"\\]|\\.?)+/u, token: "string" },
    { regex: /"/, token: "string", pop: true },
  ],
  comment: [
    { regex: /\/\*/, token: "comment", push: "comment" },
    { regex: /\*\//, token: "comment", pop: true },
    { regex: /[*/]?[^*/]*/, token: "comment" },
  ],
  raw: [
    { regex: /[^`]+/, token: "monospace" },
    { regex: /`/, token: "monospace", pop: true },
  ],
  rawBlock: [
    { regex: /`{3,}/, token: "monospace", pop: true },
    { regex: /`*[^`]*/, token: "monospace" },
  ],
});

/** Deeper nesting forgets levels, but never the outermost one, in which any text can be read. */
const MAX_DEPTH = 200;

export const typstLanguage = StreamLanguage.define({
  ...mode,
  name: "typst",
  token(stream, state) {
    // The end of a line may end many states at once. CodeMirror fails after ten calls in which nothing is read.
    for (let left = MAX_DEPTH; left > 0; left--) {
      const token = mode.token(stream, state);
      if (hasStack(state)) state.stack.splice(1, state.stack.length - MAX_DEPTH);
      if (stream.pos > stream.start) return token;
    }
    return null;
  },
  tokenTable: { functionName: tags.function(tags.variableName) },
  languageData: { commentTokens: { line: "//", block: { open: "/*", close: "*/" } } },
});

function hasStack(state: unknown): state is { stack: string[] } {
  return typeof state === "object" && state !== null && "stack" in state && Array.isArray(state.stack);
}
