/**
 * Rewrites Typst's diagnostics for the author of a template. Typst counts the lines of the program text, which starts
 * with the prelude, and names files in a temporary folder; authors need the lines of their source and their own paths.
 */
import { styleText } from "node:util";
import { sourceLines } from "../../../typst/program-text.ts";

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

export interface DiagnosticSource {
  /** The caller's source, which Typst has read from its standard input. */
  readonly source: Buffer;
  readonly sourceName: string;
  /** The folder in which it was compiled. */
  readonly compiledIn: string;
  /** The caller's folder. */
  readonly root: string;
  /** A file of the project as the caller names it. */
  shownPath(key: string): string;
}

/** What Typst calls its standard input. */
const STANDARD_INPUT = "<stdin>";
const PLACE = /^(\s*┌─ )(.+):(\d+):(\d+)$/;
const CALL = /^(\s*while .* at )(.+):(\d+):(\d+)$/;
/** A longer line quotes text of the document, and names no place. */
const MAX_PLACE_LENGTH = 10_000;
const GUTTER = /^(\s*)(\d+)( │.*)$/;

/** Rewrites the text of Typst's standard error line by line. Lines that it does not recognise stay unchanged. */
export function rewriteDiagnostics(text: string, from: DiagnosticSource): string {
  const sourceLine = sourceLines(from.source);
  let isInSource = false;
  const rewritePlace = (file: string, line: string): [string, string] => {
    if (file !== STANDARD_INPUT) return [file.startsWith("@") ? file : from.shownPath(file), line];
    return [from.sourceName, String(sourceLine(Number(line)))];
  };
  return text
    .split("\n")
    .map((line) => {
      const place = line.length > MAX_PLACE_LENGTH ? null : (PLACE.exec(line) ?? CALL.exec(line));
      if (place !== null) {
        const [, before = "", file = "", number = "", column = ""] = place;
        if (PLACE.test(line)) isInSource = file === STANDARD_INPUT;
        return `${before}${rewritePlace(file, number).join(":")}:${column}`;
      }
      const gutter = isInSource ? GUTTER.exec(line) : null;
      if (gutter !== null) {
        const [, before = "", number = "", rest = ""] = gutter;
        return `${before}${String(sourceLine(Number(number))).padStart(number.length)}${rest}`;
      }
      return line.replaceAll(from.compiledIn, from.root);
    })
    .join("\n");
}

export function parseDiagnostics(text: string): Diagnostic[] {
  const found: (Omit<Diagnostic, "file" | "line" | "column" | "hints"> & {
    file: string | null;
    line: number | null;
    column: number | null;
    hints: string[];
  })[] = [];
  for (const line of text.split("\n")) {
    const head = /^(error|warning): (.*)$/.exec(line);
    if (head !== null) {
      const severity = head[1] === "error" ? "error" : "warning";
      found.push({ severity, message: head[2] ?? "", file: null, line: null, column: null, hints: [] });
      continue;
    }
    const last = found.at(-1);
    if (last === undefined) continue;
    const place = line.length > MAX_PLACE_LENGTH ? null : PLACE.exec(line);
    if (place !== null && last.file === null) {
      last.file = place[2] ?? null;
      last.line = Number(place[3]);
      last.column = Number(place[4]);
    }
    const hint = /^\s*= hint: (.*)$/.exec(line);
    if (hint !== null) last.hints.push(hint[1] ?? "");
  }
  return found;
}

export function colouredDiagnostics(text: string, stream: NodeJS.WriteStream): string {
  const colour = (format: Parameters<typeof styleText>[0], part: string) => styleText(format, part, { stream });
  return text
    .split("\n")
    .map((line) =>
      line
        .replace(/^error:/, (word) => colour(["bold", "red"], word))
        .replace(/^warning:/, (word) => colour(["bold", "yellow"], word))
        .replace(/^\s*(?:\d+ )?│|^\s*┌─/, (gutter) => colour("blue", gutter)),
    )
    .join("\n");
}
