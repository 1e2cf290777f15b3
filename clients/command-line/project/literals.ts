/**
 * Finds the files that a Typst source may read, as far as its text shows: every string literal is a candidate.
 *
 * Not only those in calls of `image` or `json`: templates wrap these (`logo("assets/logo.png")`) and keep names in
 * arrays. The caller sends the candidates that name a file of the project, so a literal that names none costs nothing.
 */
import { withoutComments } from "../../typescript/typst-text.ts";

/** A string literal that the source imports, or passes to a function that reads files. */
export interface ReadLiteral {
  readonly path: string;
  /** Counted from one. */
  readonly line: number;
}

/** Longer strings are text, not paths. */
const MAX_PATH_LENGTH = 1024;
/** In one source. A source with more is made by a program, or to keep this one busy. */
const MAX_LITERALS = 100_000;

/** With a second positional argument, `pdf.attach` takes the content from there and reads no file. */
const READING =
  /(?:\b(?:import|include)\s+|\b(?:image|read|json|csv|toml|yaml|xml|cbor|bibliography|plugin|attach(?!\s*\(\s*"[^"\n]*"\s*,\s*(?![\s)]|\.\.|[\w-]+\s*:)))\s*\(\s*)"((?:[^"\\\n]|\\.){1,1024})"(?!\s*\+)/g;

/**
 * Every text between two double quotes of one line that could be a path, without duplicates; of very many, the first.
 *
 * In Typst's markup, a quote is an ordinary character, so only a parser could tell which one opens a string. Therefore
 * the text between any two neighbouring quotes is taken.
 */
export function stringLiterals(source: string): string[] {
  const found = new Set<string>();
  for (const line of withoutComments(source).split("\n")) {
    const parts = line.split(/(?<!\\)"/);
    for (const part of parts.slice(1, -1)) {
      if (found.size >= MAX_LITERALS) return [...found];
      if (part !== "" && part.length <= MAX_PATH_LENGTH) found.add(unescapeTypst(part));
    }
  }
  return [...found];
}

/** The literals in imports and in calls of functions that read files, without those that name packages. */
export function readLiterals(source: string): ReadLiteral[] {
  const text = withoutComments(source);
  const found: ReadLiteral[] = [];
  let line = 1;
  let lineEnd = text.indexOf("\n");
  for (const match of text.matchAll(READING)) {
    for (; lineEnd !== -1 && lineEnd < match.index; lineEnd = text.indexOf("\n", lineEnd + 1)) line++;
    const path = unescapeTypst(match[1] ?? "");
    if (!path.startsWith("@")) found.push({ path, line });
  }
  return found;
}

function unescapeTypst(text: string): string {
  return text.replace(/\\(["\\])/g, "$1");
}
