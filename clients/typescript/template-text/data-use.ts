/**
 * Whether a source uses the data of its request: by one of its two names, where these mean the data. Typst's rules of
 * scope decide; in doubt, it does.
 */
import { type CodeToken, codeTokens } from "./code-tokens.ts";

type Names = ReadonlySet<string>;
/** Token indexes, without the last. */
type Range = readonly [from: number, to: number];

const DATA_NAMES: Names = new Set(["data", "request"]);
/** What a statement goes on after, in the next line. */
const GOES_ON = /^(?:[=+\-*/<>,:.([{]|[=!<>]=|=>|and|or|not|in|else)$/;
const GOES_ON_WITH = /^(?:else|\.)$/;
/** Templates are not nested deeper. */
const MAX_DEPTH = 50;

/** @param namesIn what a file gives to those that import `*` from it, by the path in the import */
export function usesData(source: string, namesIn: (path: string) => Names = () => new Set()): boolean {
  return new Scopes(source, namesIn).uses(DATA_NAMES);
}

/** Those of the names of the data that a file gives another meaning, also for files that import `*` from it. */
export function dataNamesBoundIn(text: string): Names {
  return new Scopes(text, () => new Set()).bound();
}

class Scopes {
  readonly #text: string;
  readonly #tokens: readonly CodeToken[];
  readonly #closing: ReadonlyMap<number, number>;
  readonly #namesIn: (path: string) => Names;

  constructor(text: string, namesIn: (path: string) => Names) {
    this.#text = text;
    this.#tokens = codeTokens(text);
    this.#closing = closingBrackets(this.#tokens);
    this.#namesIn = namesIn;
  }

  uses(names: Names): boolean {
    // Text that is evaluated may use anything.
    if (this.#tokens.some(({ kind, text }, index) => kind === "name" && text === "eval" && !this.#isMember(index))) {
      return true;
    }
    return this.#usedIn([0, this.#tokens.length], names, 0);
  }

  bound(): Names {
    const bound = new Set<string>();
    for (let index = 0; index < this.#tokens.length; index = this.#after(index)) {
      for (const name of this.#boundBy(index)) if (DATA_NAMES.has(name)) bound.add(name);
    }
    return bound;
  }

  /** What the statement at an index binds for those that follow. */
  #boundBy(index: number): readonly string[] {
    if (this.#isKeyword(index, "import")) return this.#imported([index + 1, this.#statementEnd(index)]);
    if (!this.#isKeyword(index, "let")) return [];
    const pattern = index + 1;
    return this.#isSign(pattern, "(") ? this.#namesOf(this.#inside(pattern), false).bound : [this.#textAt(pattern)];
  }

  #usedIn([from, to]: Range, names: Names, depth: number): boolean {
    if (depth > MAX_DEPTH) return true;
    let free = names;
    for (let index = from; index < to && free.size > 0; ) {
      const [range, inner, end] = this.#part(index, to, free);
      if (
        range !== null
          ? range.some((one, at) => this.#usedIn(one, inner[at] ?? free, depth + 1))
          : this.#isUse(index, free)
      ) {
        return true;
      }
      free = without(free, this.#boundBy(index));
      index = end;
    }
    return false;
  }

  /** What begins at an index: the ranges in it, with the names that are free in each, and where it ends. */
  #part(index: number, to: number, free: Names): readonly [readonly Range[] | null, readonly Names[], number] {
    if (this.#isKeyword(index, "import")) return this.#import(index, to, free);
    if (this.#isKeyword(index, "let")) return this.#let(index, to, free);
    if (this.#isKeyword(index, "for")) return this.#for(index, to, free);
    const isList = this.#isSign(index, "(");
    const end = this.#after(index);
    if (this.#isSign(end, "=>")) {
      const { bound, defaults } = this.#namesOf(isList ? this.#inside(index) : [index, end], true);
      const body: Range = [end + 1, Math.min(to, this.#bodyEnd(end + 1))];
      return [[...defaults, body], [...defaults.map(() => free), without(free, bound)], body[1]];
    }
    return this.#closing.has(index) ? [[this.#inside(index)], [free], end] : [null, [], end];
  }

  #import(index: number, to: number, free: Names): readonly [readonly Range[], readonly Names[], number] {
    const end = Math.min(to, this.#statementEnd(index));
    const colon = this.#find([index, end], ":");
    return [[[index + 1, colon === -1 ? index + 2 : colon]], [free], end];
  }

  #let(index: number, to: number, free: Names): readonly [readonly Range[], readonly Names[], number] {
    const end = Math.min(to, this.#statementEnd(index));
    const equals = this.#find([index, end], "=");
    const value: Range = [equals === -1 ? end : equals + 1, end];
    if (!this.#isSign(index + 2, "(") || this.#isSign(index + 1, "(")) return [[value], [free], end];
    const { bound, defaults } = this.#namesOf(this.#inside(index + 2), true);
    return [[...defaults, value], [...defaults.map(() => free), without(free, bound)], end];
  }

  #for(index: number, to: number, free: Names): readonly [readonly Range[], readonly Names[], number] {
    const of = this.#find([index, to], "in");
    if (of === -1) return [[], [], index + 1];
    let body = of + 1;
    while (body < to && !this.#isSign(body, "{") && !this.#isSign(body, "[")) body = this.#after(body);
    const { bound } = this.#namesOf(this.#isSign(index + 1, "(") ? this.#inside(index + 1) : [index + 1, of], false);
    const end = Math.min(to, this.#after(body));
    return [
      [
        [of + 1, body],
        [body, end],
      ],
      [free, without(free, bound)],
      end,
    ];
  }

  /** The names in a list of parameters, or in a pattern, where `key: name` binds the name. */
  #namesOf([from, to]: Range, areParameters: boolean): { bound: string[]; defaults: Range[] } {
    const bound: string[] = [];
    const defaults: Range[] = [];
    for (let start = from; start < to; ) {
      const comma = this.#find([start, to], ",");
      const end = comma === -1 ? to : comma;
      const hasColon = this.#isSign(start + 1, ":");
      if (areParameters && hasColon) {
        bound.push(this.#textAt(start));
        defaults.push([start + 2, end]);
      } else {
        for (let index = hasColon ? start + 2 : start; index < end; index++) bound.push(this.#textAt(index));
      }
      start = end + 1;
    }
    return { bound, defaults };
  }

  /** `"file.typ"`, `… as name`, `…: name, name as other`, `…: *` */
  #imported([from, to]: Range): readonly string[] {
    const path = this.#tokens[from]?.kind === "string" ? this.#textAt(from) : null;
    const colon = this.#find([from, to], ":");
    if (colon === -1) {
      const as = this.#find([from, to], "as");
      const module = path?.replace(/^(?:.*[/:])?@?([^/:]+?)(?::[\d.]+)?$/, "$1").replace(/\.typ$/, "");
      return as === -1 ? [module ?? ""] : [this.#textAt(as + 1)];
    }
    if (this.#isSign(colon + 1, "*")) return [...this.#namesIn(path ?? "")];
    const list: Range = this.#isSign(colon + 1, "(") ? this.#inside(colon + 1) : [colon + 1, to];
    const bound: string[] = [];
    for (let start = list[0]; start < list[1]; ) {
      const comma = this.#find([start, list[1]], ",");
      const end = comma === -1 ? list[1] : comma;
      bound.push(this.#textAt(end - 1));
      start = end + 1;
    }
    return bound;
  }

  /** Where a closure's body ends: before a comma, with the brackets around it, or with its statement. */
  #bodyEnd(start: number): number {
    const end = this.#statementEnd(start);
    const comma = this.#find([start, end], ",");
    return comma === -1 ? end : comma;
  }

  #statementEnd(start: number): number {
    let last = start;
    for (let index = this.#after(start); index < this.#tokens.length; index = this.#after(index)) {
      if (this.#tokens[index]?.kind === "end" || /^[;)\]}]$/.test(this.#signAt(index))) return index;
      if (this.#isNewLine(last, index)) return index;
      last = this.#after(index) - 1;
    }
    return this.#tokens.length;
  }

  /** Whether a statement ends between a token and the next. */
  #isNewLine(last: number, next: number): boolean {
    const before = this.#tokens[last];
    const after = this.#tokens[next];
    if (before === undefined || after === undefined) return true;
    const end = before.offset + before.text.length + (before.kind === "string" ? 2 : 0);
    if (!this.#text.slice(end, after.offset).includes("\n")) return false;
    const isStar = this.#isSign(last, "*") && this.#isSign(last - 1, ":");
    return (before.kind === "string" || !GOES_ON.test(before.text) || isStar) && !GOES_ON_WITH.test(after.text);
  }

  /** The first such sign or keyword of a range that is in no further brackets. */
  #find([from, to]: Range, text: string): number {
    for (let index = from; index < to; index = this.#after(index)) {
      if (this.#tokens[index]?.kind !== "string" && this.#textAt(index) === text) return index;
    }
    return -1;
  }

  #inside(open: number): Range {
    return [open + 1, this.#closing.get(open) ?? this.#tokens.length];
  }

  /** The index after a token, or after the bracket that closes it. */
  #after(index: number): number {
    return (this.#closing.get(index) ?? index) + 1;
  }

  /** A name before a colon is that of an argument or a member. */
  #isUse(index: number, names: Names): boolean {
    const { kind, text } = this.#tokens[index] ?? { kind: "end", text: "" };
    return kind === "name" && names.has(text) && !this.#isMember(index) && !this.#isSign(index + 1, ":");
  }

  #isMember(index: number): boolean {
    return this.#isSign(index - 1, ".");
  }

  #isKeyword(index: number, keyword: string): boolean {
    return this.#tokens[index]?.kind === "name" && this.#textAt(index) === keyword && !this.#isMember(index);
  }

  #isSign(index: number, sign: string): boolean {
    return this.#signAt(index) === sign;
  }

  #signAt(index: number): string {
    return this.#tokens[index]?.kind === "sign" ? this.#textAt(index) : "";
  }

  #textAt(index: number): string {
    return this.#tokens[index]?.text ?? "";
  }
}

function without(names: Names, bound: readonly string[]): Names {
  return new Set([...names].filter((name) => !bound.includes(name)));
}

/** The index of the bracket that closes each, or of the last token. */
function closingBrackets(tokens: readonly CodeToken[]): ReadonlyMap<number, number> {
  const closing = new Map<number, number>();
  const open: number[] = [];
  for (const [index, { kind, text }] of tokens.entries()) {
    if (kind !== "sign") continue;
    if (/^[([{]$/.test(text)) open.push(index);
    else if (/^[)\]}]$/.test(text)) {
      const start = open.pop();
      if (start !== undefined) closing.set(start, index);
    }
  }
  for (const start of open) closing.set(start, tokens.length);
  return closing;
}
