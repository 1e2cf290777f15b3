/**
 * The names, strings and signs in the code of a Typst text: what is markup, a comment or raw text is passed over. It
 * follows Typst's modes closely enough to say whether a template uses a name; the text may be anybody's, and is read once.
 */
export interface CodeToken {
  /** `end` is where a statement in markup ends. */
  readonly kind: "name" | "string" | "sign" | "end";
  /** Of a string, what is between its quotes. */
  readonly text: string;
  readonly offset: number;
}

/**
 * `line` follows a keyword and ends with its line, `flow` (`#if`, `#for`) also after a block, `chain` is `#name.field(…)`,
 * `code` is in parentheses or braces.
 */
type Mode = "markup" | "math" | "code" | "line" | "flow" | "chain";

const LINE_COMMENT = /\/\/[^\n]*/y;
const RAW_TEXT = /(`{3,})[\s\S]*?(?:\1|$)|`[^`]*(?:`|$)/y;
const COMMENT_EDGE = /\/\*|\*\//g;
const MARKUP_TEXT = /\\[\s\S]?|https?:\/\/[^\s\])]*|[^\\#$[\]`/h]+|[/h]/y;
const ESCAPED = /\\[\s\S]?/uy;
const NAME = /[\p{L}_][\p{L}\p{N}_-]*/uy;
const STRING = /"((?:[^"\\]+|\\[\s\S])*)"?/y;
const NUMBER = /\d[\w.%]*/y;
const SPACE = /[^\S\n]+/y;
const SIGN = /[=!<>]=|=>|\.\.|[\s\S]/y;
const LINE_KEYWORD = /^(?:let|set|show|import|include|return)$/;
const FLOW_KEYWORD = /^(?:if|for|while|context)$/;
/** What a statement goes on after, in the next line, but for the star of an import. */
const GOES_ON = /^(?:[=+\-*/<>,:.]|[=!<>]=|=>|and|or|not|in|else)$/;
const GOES_ON_WITH = /\s*(?:else\b|\.[\p{L}_])/uy;
const AFTER_BLOCK = /\s*else\b|[.([]/y;
const AFTER_CHAIN = /[([]|\.[\p{L}_]/uy;

export function codeTokens(text: string): readonly CodeToken[] {
  return tokenizerOf(text).tokens;
}

/** What Typst passes over, in order. */
export interface PassedOver {
  readonly kind: "comment" | "raw";
  readonly start: number;
  readonly end: number;
}

export function passedOver(text: string): readonly PassedOver[] {
  return /`|\/[/*]/.test(text) ? tokenizerOf(text).passedOver : [];
}

/** Of the text that was read last: several questions are asked of a text, one after the other. */
let last: Tokenizer | null = null;

function tokenizerOf(text: string): Tokenizer {
  if (last?.text !== text) last = new Tokenizer(text);
  return last;
}

class Tokenizer {
  readonly text: string;
  readonly passedOver: PassedOver[] = [];
  readonly tokens: CodeToken[] = [];
  readonly #modes: Mode[] = ["markup"];
  /** How many there were at the last number, which is no token. */
  #tokensBeforeNumber = -1;
  #at = 0;

  constructor(text: string) {
    this.text = text;
    this.#read();
  }

  #read(): void {
    while (this.#at < this.text.length) {
      const mode = this.#modes.at(-1) ?? "markup";
      if (this.#passOver(mode)) continue;
      if (mode === "markup") this.#readMarkup();
      else if (mode === "math") this.#readMath();
      else if (mode === "chain") this.#readChain();
      else this.#readCode(mode);
    }
    this.#add("end", "");
  }

  #readMarkup(): void {
    const next = this.text[this.#at];
    if (next === "#") this.#enterCode();
    else if (next === "$") this.#enter("math");
    else if (next === "[") this.#enter("markup");
    else if (next === "]") this.#leaveContent();
    else if (this.#take(MARKUP_TEXT) === null) this.#at++;
  }

  #readMath(): void {
    const next = this.text[this.#at];
    if (next === "$") this.#leave(1);
    else if (next === "#") this.#enterCode();
    else if (next === "\\") this.#take(ESCAPED);
    else if (!this.#readString() && !this.#readName()) this.#at++;
  }

  #readChain(): void {
    const next = this.text[this.#at] ?? "";
    if (!this.#matches(AFTER_CHAIN)) this.#leave(0);
    else if (next === ".") this.#readSign();
    else this.#open(next);
    if (next === ".") this.#readName();
  }

  #readCode(mode: "code" | "line" | "flow"): void {
    const next = this.text[this.#at] ?? "";
    if (next === "\n") this.#readLineEnd(mode);
    else if (mode !== "code" && next === "]") this.#leave(0);
    else if (mode !== "code" && next === ";") this.#leave(1);
    else if (next === "(" || next === "{" || next === "[") this.#open(next);
    else if (mode === "code" && (next === ")" || next === "}")) this.#close(next);
    else if (next === "$") this.#enter("math");
    else if (!this.#readString() && !this.#readName() && !this.#readNumber() && this.#take(SPACE) === null) {
      this.#readSign();
    }
  }

  #readLineEnd(mode: Mode): void {
    const last = this.tokens.at(-1);
    this.#at++;
    const isStar = last?.text === "*" && this.tokens.at(-2)?.text === ":";
    const goesOn = last?.kind !== "string" && GOES_ON.test(last?.text ?? "") && !isStar;
    if (mode === "code" || (goesOn && this.#tokensBeforeNumber !== this.tokens.length)) return;
    if (!this.#matches(GOES_ON_WITH)) this.#leave(0);
  }

  /** After a `#`. */
  #enterCode(): void {
    this.#at++;
    const start = this.#at;
    const name = this.#take(NAME);
    const isLine = name !== null && LINE_KEYWORD.test(name);
    const isFlow = name !== null && FLOW_KEYWORD.test(name);
    this.#modes.push(isLine ? "line" : isFlow ? "flow" : "chain");
    if (name !== null) this.#add("name", name, start);
    else if (this.text[this.#at] === "{") this.#open("{");
    else this.#readString();
  }

  #enter(mode: Mode): void {
    this.#modes.push(mode);
    this.#at++;
  }

  #open(bracket: string): void {
    this.#add("sign", bracket);
    this.#enter(bracket === "[" ? "markup" : "code");
  }

  #close(bracket: string): void {
    this.#leave(1);
    this.#add("sign", bracket, this.#at - 1);
    if (bracket === "}") this.#endFlow();
  }

  #leaveContent(): void {
    if (this.#modes.length === 1) this.#at++;
    else {
      this.#close("]");
      this.#endFlow();
    }
  }

  #endFlow(): void {
    if (this.#modes.at(-1) === "flow" && !this.#matches(AFTER_BLOCK)) this.#leave(0);
  }

  #leave(length: number): void {
    const left = this.#modes.pop();
    this.#at += length;
    if (left === "line" || left === "flow" || left === "chain") this.#add("end", "");
  }

  #readString(): boolean {
    const start = this.#at;
    const quoted = this.#take(STRING);
    if (quoted !== null) this.#add("string", quoted.replace(/^"|"$/g, ""), start);
    return quoted !== null;
  }

  #readName(): boolean {
    const start = this.#at;
    const name = this.#take(NAME);
    if (name !== null) this.#add("name", name, start);
    return name !== null;
  }

  #readNumber(): boolean {
    if (this.#take(NUMBER) === null) return false;
    this.#tokensBeforeNumber = this.tokens.length;
    return true;
  }

  #readSign(): void {
    const start = this.#at;
    const sign = this.#take(SIGN);
    if (sign !== null) this.#add("sign", sign, start);
  }

  /** In formulas, a backtick is a sign. */
  #passOver(mode: Mode): boolean {
    const start = this.#at;
    const isComment = this.#skipComment() || this.#take(LINE_COMMENT) !== null;
    if (!isComment && (mode === "math" || this.#take(RAW_TEXT) === null)) return false;
    this.passedOver.push({ kind: isComment ? "comment" : "raw", start, end: this.#at });
    return true;
  }

  /** Comments nest. */
  #skipComment(): boolean {
    if (!this.text.startsWith("/*", this.#at)) return false;
    let depth = 0;
    COMMENT_EDGE.lastIndex = this.#at;
    do {
      const [edge] = COMMENT_EDGE.exec(this.text) ?? [];
      if (edge === undefined) break;
      depth += edge === "/*" ? 1 : -1;
    } while (depth > 0);
    this.#at = depth > 0 ? this.text.length : COMMENT_EDGE.lastIndex;
    return true;
  }

  #take(pattern: RegExp): string | null {
    pattern.lastIndex = this.#at;
    const [found] = pattern.exec(this.text) ?? [];
    if (found === undefined || found === "") return null;
    this.#at += found.length;
    return found;
  }

  #matches(pattern: RegExp): boolean {
    pattern.lastIndex = this.#at;
    return pattern.test(this.text);
  }

  #add(kind: CodeToken["kind"], text: string, offset = this.#at): void {
    this.tokens.push({ kind, text, offset });
  }
}
