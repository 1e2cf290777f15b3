/**
 * The files that a Typst source may read, as far as its text shows. Every string literal is a candidate, since templates
 * wrap `image` or `json` (`logo("assets/logo.png")`) and keep names in arrays; one that names no file costs nothing.
 */
import { codeTokens } from "../../typescript/template-text/code-tokens.ts";
import { removeComments, removeCommentsAndRawText } from "../../typescript/template-text/typst-text.ts";

/** Longer strings are text, not paths. */
const MAX_PATH_LENGTH = 1024;
/** In one source. A source with more is made by a program, or to keep this one busy. */
const MAX_LITERALS = 100_000;

/** With a second positional argument, `pdf.attach` takes the content from there and reads no file. */
const READING =
  /(?<![\w-])(?:(?:import|include)\s+|(?:image|read|json|csv|toml|yaml|xml|cbor|bibliography|plugin|attach(?!\s*\(\s*"[^"\n]*"\s*,\s*(?![\s)]|\.\.|[\w-]+\s*:)))\s*\(\s*)"((?:[^"\\\n]|\\.){1,1024})"(?!\s*\+)/g;

/** A text between two double quotes that could be a path, and where it is between them. */
export interface LiteralPlace {
  readonly path: string;
  readonly start: number;
  readonly end: number;
}

/** All of them, of very many different ones the first. */
export function stringLiterals(source: string): string[] {
  const found = new Set<string>();
  for (const { path } of literalPlaces(source)) {
    if (found.size >= MAX_LITERALS) break;
    found.add(path);
  }
  return [...found];
}

/**
 * Every text between two neighbouring double quotes of one line. Only a parser could tell which quote opens a string: in
 * Typst's markup, it is an ordinary character.
 */
function* literalPlaces(source: string): Generator<LiteralPlace> {
  let lineStart = 0;
  for (const line of removeComments(source).split("\n")) {
    const parts = line.split(/(?<!\\)"/);
    let start = lineStart + (parts[0] ?? "").length + 1;
    for (const part of parts.slice(1, -1)) {
      const end = start + part.length;
      if (part !== "" && part.length <= MAX_PATH_LENGTH) yield { path: unescapeTypst(part), start, end };
      start = end + 1;
    }
    lineStart += line.length + 1;
  }
}

/**
 * The literals in imports and in calls of functions that read files, with their first lines; none of packages. What a string
 * or raw text says is no call.
 */
export function readLiterals(source: string): Map<string, number> {
  const text = removeCommentsAndRawText(source);
  const names = new Set(codeTokens(source).flatMap(({ kind, offset }) => (kind === "name" ? [offset] : [])));
  const found = new Map<string, number>();
  let line = 1;
  let lineEnd = text.indexOf("\n");
  for (const match of text.matchAll(READING)) {
    if (!names.has(match.index)) continue;
    for (; lineEnd !== -1 && lineEnd < match.index; lineEnd = text.indexOf("\n", lineEnd + 1)) line++;
    const path = unescapeTypst(match[1] ?? "");
    if (!path.startsWith("@") && !found.has(path)) found.set(path, line);
  }
  return found;
}

function unescapeTypst(text: string): string {
  return text.replace(/\\(["\\])/g, "$1");
}
