/**
 * Highlighting of Typst: markup, code and math, distinguished by what opens and closes them. It only colours, and finds
 * no errors.
 *
 * We have our own, because the only package for CodeMirror is a WebAssembly module of 320 KB, which the page's policy
 * forbids.
 */
import { StreamLanguage, type StreamParser, type StringStream } from "@codemirror/language";

/**
 * What surrounds the current position, innermost last: `markup` in brackets, `code` in parentheses or braces, `line` of
 * code after `#let` and the like, `chain` of an expression that is embedded in markup, `math` between dollars.
 */
type Mode = "markup" | "code" | "line" | "chain" | "math";

interface State {
  readonly modes: Mode[];
  /** How deeply block comments are nested. */
  commentDepth: number;
  /** The backticks that end a raw text; empty outside of one. */
  fence: string;
  inString: boolean;
  inHeading: boolean;
  strong: boolean;
  emphasized: boolean;
}

/** What a bracket or a dollar opens. */
const OPENED: Readonly<Record<string, Mode>> = { "(": "code", "{": "code", "[": "markup", $: "math" };

/** Deeper nesting is coloured as if it were at this depth. */
const MAX_MODES = 200;

const KEYWORDS =
  /^(?:let|set|show|context|import|include|if|else|for|while|break|continue|return|as|in|not|and|or)(?![\w-])/u;
const STATEMENTS = /^(?:let|set|show|import|include|if|for|while|return|context)$/;
const CONSTANTS = /^(?:none|auto|true|false)(?![\w-])/;
const IDENTIFIER = /^[\p{L}_][\p{L}\p{N}_-]*/u;
const NUMBER = /^(?:0x[\da-f]+|0b[01]+|0o[0-7]+|\d+(?:\.\d+)?(?:e[+-]?\d+)?|\.\d+)(?:pt|mm|cm|in|em|fr|deg|rad|%)?/i;

const parser: StreamParser<State> = {
  name: "typst",
  startState: () => ({
    modes: ["markup"],
    commentDepth: 0,
    fence: "",
    inString: false,
    inHeading: false,
    strong: false,
    emphasized: false,
  }),
  copyState: (state) => ({ ...state, modes: [...state.modes] }),
  blankLine: (state) => {
    state.inHeading = false;
    state.strong = false;
    state.emphasized = false;
  },
  token(stream, state) {
    if (stream.sol()) {
      state.inHeading = false;
      while (state.modes.length > 1 && (top(state) === "line" || top(state) === "chain")) state.modes.pop();
    }
    if (state.commentDepth > 0) return blockComment(stream, state);
    if (state.fence !== "") return rawText(stream, state);
    if (state.inString) return string(stream, state);
    if (top(state) === "chain") return chain(stream, state);
    if (stream.match("//")) {
      stream.skipToEnd();
      return "comment";
    }
    if (stream.match("/*")) {
      state.commentDepth = 1;
      return blockComment(stream, state);
    }
    if (stream.match(/^`+/)) return openRaw(stream, state);
    const mode = top(state);
    if (mode === "markup") return markup(stream, state);
    return mode === "math" ? math(stream, state) : code(stream, state);
  },
  languageData: { commentTokens: { line: "//", block: { open: "/*", close: "*/" } } },
};

export const typstLanguage = StreamLanguage.define(parser);

function top({ modes }: State): Mode {
  return modes.at(-1) ?? "markup";
}

/** Opens what a bracket or a dollar opens; null if it is neither. */
function open(next: string | undefined, state: State): string | null {
  const mode = OPENED[next ?? ""];
  if (mode === undefined) return null;
  push(state, mode);
  return mode === "math" ? "controlKeyword" : "bracket";
}

function push(state: State, mode: Mode): void {
  if (state.modes.length < MAX_MODES) state.modes.push(mode);
}

function blockComment(stream: StringStream, state: State): string {
  while (!stream.eol() && state.commentDepth > 0) {
    if (stream.match("*/")) state.commentDepth--;
    else if (stream.match("/*")) state.commentDepth++;
    else stream.next();
  }
  return "comment";
}

function openRaw(stream: StringStream, state: State): string {
  const ticks = stream.current();
  // Two backticks are an empty raw text.
  if (ticks.length === 2) return "monospace";
  state.fence = ticks;
  return rawText(stream, state);
}

function rawText(stream: StringStream, state: State): string {
  if (stream.skipTo(state.fence)) {
    stream.match(state.fence);
    state.fence = "";
  } else {
    stream.skipToEnd();
  }
  return "monospace";
}

function string(stream: StringStream, state: State): string {
  for (let next = stream.next(); next !== undefined && next !== null; next = stream.next()) {
    if (next === "\\") stream.next();
    else if (next === '"') {
      state.inString = false;
      break;
    }
  }
  return "string";
}

function openString(stream: StringStream, state: State): string {
  state.inString = true;
  return string(stream, state);
}

function markup(stream: StringStream, state: State): string | null {
  if (stream.sol()) {
    stream.eatSpace();
    if (stream.match(/^=+(?=\s)/)) {
      state.inHeading = true;
      return "heading";
    }
    if (stream.match(/^(?:[-+/]|\d+\.)(?=\s)/)) return "list";
  }
  if (stream.match(/^\\(?:u\{[\da-f]+\}|.)?/i)) return "escape";
  if (stream.match(/^https?:\/\/[^\s\])]+/)) return "link";
  if (stream.match(/^<[\p{L}_][\p{L}\p{N}_:.-]*>/u) || stream.match(/^@[\p{L}_][\p{L}\p{N}_:.-]*/u)) return "labelName";
  const next = stream.next();
  switch (next) {
    case "#":
      return embedded(stream, state);
    case "$":
      push(state, "math");
      return "controlKeyword";
    case "*":
      state.strong = !state.strong;
      return "strong";
    case "_":
      state.emphasized = !state.emphasized;
      return "emphasis";
    case "[":
      push(state, "markup");
      return textStyle(state);
    case "]":
      closeBracket(state);
      return "bracket";
    default:
      stream.match(/^[^\\#$*_[\]<@`/h]+/);
      return textStyle(state);
  }
}

function textStyle({ inHeading, strong, emphasized }: State): string | null {
  if (inHeading) return "heading";
  if (strong) return "strong";
  return emphasized ? "emphasis" : null;
}

/** What follows a `#` in markup. */
function embedded(stream: StringStream, state: State): string {
  const word = /^[a-z]+(?![\w-])/.exec(stream.string.slice(stream.pos))?.[0] ?? "";
  push(state, STATEMENTS.test(word) ? "line" : "chain");
  return "controlKeyword";
}

/** `#name.field(…)[…]`: goes on as long as nothing else comes between. */
function chain(stream: StringStream, state: State): string | null {
  if (stream.match(CONSTANTS)) return "literal";
  const start = stream.start;
  if (stream.match(IDENTIFIER)) return name(stream, stream.string.charAt(start - 1) === ".");
  if (stream.match(/^\.(?=[\p{L}_])/u)) return "punctuation";
  if (stream.match(/^[({[]/)) return open(stream.current(), state);
  state.modes.pop();
  if (stream.match('"')) return openString(stream, state);
  if (stream.match(NUMBER)) return "number";
  if (stream.match(";")) return "punctuation";
  // An empty token would be an error, so the text is read again in the mode around the chain.
  return parser.token(stream, state);
}

function name(stream: StringStream, isField: boolean): string {
  if (/^[([]/.test(stream.string.slice(stream.pos))) return "variableName.function";
  return isField ? "propertyName" : "variableName";
}

function code(stream: StringStream, state: State): string | null {
  if (stream.eatSpace()) return null;
  if (stream.match(KEYWORDS)) return "keyword";
  if (stream.match(CONSTANTS)) return "literal";
  if (stream.match(NUMBER)) return "number";
  if (stream.match(/^<[\p{L}_][\p{L}\p{N}_:.-]*>/u)) return "labelName";
  const { start } = stream;
  if (stream.match(IDENTIFIER)) {
    if (/^\s*:(?!:)/.test(stream.string.slice(stream.pos)) && top(state) === "code") return "propertyName";
    return name(stream, stream.string.charAt(start - 1) === ".");
  }
  const next = stream.next();
  switch (next) {
    case '"':
      return openString(stream, state);
    case "$":
    case "(":
    case "{":
    case "[":
      return open(next, state);
    case ")":
    case "}":
      if (top(state) === "code") state.modes.pop();
      return "bracket";
    case "]":
      closeBracket(state);
      return "bracket";
    case ";":
      if (top(state) === "line") state.modes.pop();
      return "punctuation";
    default:
      stream.match(/^[=+\-*/<>!.]+/);
      return "operator";
  }
}

/** Ends the innermost content block and the lines of code within it. */
function closeBracket(state: State): void {
  while (state.modes.length > 1 && top(state) === "line") state.modes.pop();
  if (state.modes.length > 1 && top(state) === "markup") state.modes.pop();
  state.strong = false;
  state.emphasized = false;
}

function math(stream: StringStream, state: State): string | null {
  if (stream.eatSpace()) return null;
  if (stream.match(/^\\./)) return "escape";
  if (stream.match(/^\p{L}{2,}/u)) return "variableName";
  if (stream.match(NUMBER)) return "number";
  const next = stream.next();
  switch (next) {
    case "$":
      state.modes.pop();
      return "controlKeyword";
    case '"':
      return openString(stream, state);
    case "#":
      push(state, "chain");
      return "controlKeyword";
    default:
      return /\p{L}/u.test(next ?? "") ? "variableName" : "operator";
  }
}
