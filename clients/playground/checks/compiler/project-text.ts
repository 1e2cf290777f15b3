/** Where Typst's diagnostics are in a draft, and what is compiled: the template under the service's prelude. */
export interface CompilerProject {
  readonly source: string;
  /** JSON. */
  readonly data: string;
  readonly files: readonly { readonly key: string; readonly bytes: Uint8Array }[];
  readonly standards: readonly string[];
  /** Whether the service has refused the finished PDF, which is then judged here, too. */
  readonly isPdfRefused: boolean;
}

/** Counts from zero, columns in code points, as the compiler's WebAssembly does. */
interface Position {
  readonly line: number;
  readonly column: number;
}

export interface FileRange {
  /** The key of the file; null for the template. */
  readonly key: string | null;
  readonly from: Position;
  readonly to: Position;
}

export type FileDiagnostic = FileRange & { readonly message: string; readonly isWarning?: true };

export interface CompilerDiagnostic {
  /** Empty for the project's own files. */
  readonly package: string;
  readonly path: string;
  readonly range: string;
  readonly severity: string;
  readonly message: string;
}

export interface Compilation {
  readonly diagnostics: readonly CompilerDiagnostic[];
  /** Of a document without errors; empty if it has none. */
  readonly title: string;
  readonly linesAbove: number;
}

export const MAIN_PATH = "/~template";
/** No key can have a colon. */
export const COMPILED_DATA_PATH = "/:data.json";
const PRELUDE = `#let data = json("${COMPILED_DATA_PATH}")\n#let request = data\n`;

/** The line ends of Typst, except CR LF. */
const LINE_END = /[\n\v\f\r\u0085\u2028\u2029]/;

/** The template under the prelude, as `typst/program-text.ts` has it, and under `rules`, lines of Typst. */
export function programText(source: string, rules: string): { readonly text: string; readonly linesAbove: number } {
  const head = PRELUDE + rules;
  // A `#!` line would have to stay the first one. As a comment of the same length it may be anywhere.
  const body = source.replace(/^\ufeff/, "").replace(/^#!/, "//");
  return { text: head + body, linesAbove: head.split("\n").length - 1 };
}

export function rangeOf({ package: spec, path, range }: CompilerDiagnostic, linesAbove: number): FileRange | null {
  const [, ...parts] = /^(\d+):(\d+)-(\d+):(\d+)$/.exec(range) ?? [];
  const [line = Number.NaN, column = 0, endLine = 0, endColumn = 0] = parts.map(Number);
  // The page itself checks the data, which are no file of the project.
  if (Number.isNaN(line) || spec !== "" || path === COMPILED_DATA_PATH) return null;
  const above = path === MAIN_PATH ? linesAbove : 0;
  if (line < above) return null;
  return {
    key: path === MAIN_PATH ? null : path.replace(/^\//, ""),
    from: { line: line - above, column },
    to: { line: endLine - above, column: endColumn },
  };
}

/** @param text as `textOf` returns it. A range beyond the text ends with the text */
export function offsetsOf(text: string, { from, to }: FileRange): { readonly from: number; readonly to: number } {
  const lines = text.split("\n");
  const offsetOf = ({ line, column }: Position) => {
    const before = lines.slice(0, line).reduce((sum, each) => sum + each.length + 1, 0);
    return before + [...(lines[line] ?? "")].slice(0, column).join("").length;
  };
  return { from: offsetOf(from), to: offsetOf(to) };
}

/** With line ends as in the editor, one character each; empty for a key that no file has. @param key null for the template */
export function textOf({ source, files }: CompilerProject, key: string | null): string {
  const file = files.find((each) => each.key === key);
  const text = key === null ? source : file === undefined ? "" : new TextDecoder().decode(file.bytes);
  return text.replaceAll("\r\n", "\n").split(LINE_END).join("\n");
}
