/**
 * Rewrites Typst's diagnostics for the author of a template. Typst counts the lines of the program text, which starts
 * with the prelude, and names files in a temporary folder; authors need the lines of their source and their own paths.
 */
import { styleText } from "node:util";
import { sourceLines } from "../../../typst/program-text.ts";
import { type Project, shownPath } from "../project/project.ts";

export interface Diagnostic {
  readonly severity: "error" | "warning";
  readonly message: string;
  /** Null if Typst names no place. */
  readonly file: string | null;
  /** Counted from one. */
  readonly line: number | null;
  /** Counted from zero, as Typst does. */
  readonly column: number | null;
  readonly hints: readonly string[];
}

/** What Typst calls its standard input. */
const STANDARD_INPUT = "<stdin>";
const PLACE = /^(\s*┌─ )(.+):(\d+):(\d+)$/;
const CALL = /^(\s*while .* at )(.+):(\d+):(\d+)$/;
/** A longer line quotes text of the document, and names no place. */
const MAX_PLACE_LENGTH = 10_000;
const GUTTER = /^(\s*)(\d+)( │.*)$/;

function matchPlace(pattern: RegExp, line: string): RegExpExecArray | null {
  return line.length > MAX_PLACE_LENGTH ? null : pattern.exec(line);
}

/** @param compiledIn the folder that Typst has seen */
export function rewriteDiagnostics(text: string, project: Project, compiledIn: string): string {
  const { root, sourceName } = project;
  const sourceLine = sourceLines(project.source);
  let isInSource = false;
  return text
    .split("\n")
    .map((line) => {
      const place = matchPlace(PLACE, line);
      if (place !== null) isInSource = place[2] === STANDARD_INPUT;
      const [, before = "", file, number = "", column = ""] = place ?? matchPlace(CALL, line) ?? [];
      if (file === STANDARD_INPUT) return `${before}${sourceName}:${sourceLine(Number(number))}:${column}`;
      if (file !== undefined) {
        return `${before}${file.startsWith("@") ? file : shownPath(root, sourceName, file)}:${number}:${column}`;
      }
      const [, indent = "", shown, rest = ""] = (isInSource && GUTTER.exec(line)) || [];
      if (shown !== undefined) return `${indent}${String(sourceLine(Number(shown))).padStart(shown.length)}${rest}`;
      return line.replaceAll(compiledIn, root);
    })
    .join("\n");
}

export function parseDiagnostics(text: string): Diagnostic[] {
  const found: Diagnostic[] = [];
  for (const line of text.split("\n")) {
    const [, severity, message = ""] = /^(error|warning): (.*)$/.exec(line) ?? [];
    if (severity === "error" || severity === "warning") {
      found.push({ severity, message, file: null, line: null, column: null, hints: [] });
    }
    const last = found.at(-1);
    if (last === undefined) continue;
    const [, , file, number, column] = (last.file === null && matchPlace(PLACE, line)) || [];
    const [, hint] = /^\s*= hint: (.*)$/.exec(line) ?? [];
    if (file !== undefined) {
      found[found.length - 1] = { ...last, file, line: Number(number), column: Number(column) };
    } else if (hint !== undefined) found[found.length - 1] = { ...last, hints: [...last.hints, hint] };
  }
  return found;
}

export function colourDiagnostics(text: string, stream: NodeJS.WriteStream): string {
  const colour = (format: Parameters<typeof styleText>[0], part: string) => styleText(format, part, { stream });
  return text
    .replace(/^error:/gm, (word) => colour(["bold", "red"], word))
    .replace(/^warning:/gm, (word) => colour(["bold", "yellow"], word))
    .replace(/^[ \t]*(?:\d+ )?│|^[ \t]*┌─/gm, (gutter) => colour("blue", gutter));
}
