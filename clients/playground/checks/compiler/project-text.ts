/** Where Typst's diagnostics are in a draft, and what is compiled: the template under the service's prelude. */
export interface CompilerProject {
  readonly source: string;
  /** JSON. */
  readonly data: string;
  readonly files: readonly { readonly key: string; readonly bytes: Uint8Array }[];
  /** The standards that the output is to follow, such as `ua-1`. */
  readonly standards: readonly string[];
}

/** A mistake in a text of the project. */
export interface CompilerFinding {
  /** The key of the file; null for the template. */
  readonly key: string | null;
  /** Counts from one. */
  readonly line: number;
  /** Offsets in UTF-16 code units, where each line end is one. */
  readonly from: number;
  readonly to: number;
  readonly message: string;
}

/** Lines and columns count from zero, columns in code points, as the compiler's WebAssembly reports them. */
export interface TextRange {
  readonly from: { readonly line: number; readonly column: number };
  readonly to: { readonly line: number; readonly column: number };
}

/** Offsets in UTF-16 code units, in a text whose line ends are one character each, as in the editor. */
export interface OffsetRange {
  readonly from: number;
  readonly to: number;
}

/** No key can be this name. */
export const MAIN_PATH = "/~template";
/** As `typst/program-text.ts` binds the data; the file can have no name that a key could be. */
export const DATA_PATH = "/:data.json";
const PRELUDE = `#let data = json("${DATA_PATH}")\n#let request = data\n`;

/** CR LF counts as one line end, as in the editor. Typst's others are one character each. */
const LINE_END = /[\n\v\f\r\u0085\u2028\u2029]/;

/** The range that a diagnostic names, such as `0:5-0:10`; null if it is none. */
function parseRange(range: string): TextRange | null {
  const [, ...parts] = /^(\d+):(\d+)-(\d+):(\d+)$/.exec(range) ?? [];
  const [line, column, endLine, endColumn] = parts.map(Number);
  if (line === undefined || column === undefined || endLine === undefined || endColumn === undefined) return null;
  return { from: { line, column }, to: { line: endLine, column: endColumn } };
}

/** Where a range of the text is. A range beyond the text ends with the text. */
export function offsetsOf(text: string, { from, to }: TextRange): OffsetRange {
  const lines = splitLines(text);
  const offsetOf = ({ line, column }: TextRange["from"]) => {
    const before = lines.slice(0, line).reduce((sum, each) => sum + each.length + 1, 0);
    return before + [...(lines[line] ?? "")].slice(0, column).join("").length;
  };
  return { from: offsetOf(from), to: offsetOf(to) };
}

/** The text with line ends of one character, as offsets count it. */
export function splitLines(text: string): readonly string[] {
  return text.replaceAll("\r\n", "\n").split(LINE_END);
}

/** The main text of a compilation, and how many lines it has above the template. */
export interface ProgramText {
  readonly text: string;
  readonly linesAbove: number;
}

/** The template under the prelude and `rules`: lines of Typst that end with a line feed. */
export function programText(source: string, rules = ""): ProgramText {
  const head = PRELUDE + rules;
  // A `#!` line would have to stay the first one. As a comment of the same length it may be anywhere.
  const body = source.replace(/^\ufeff/, "").replace(/^#!/, "//");
  return { text: head + body, linesAbove: head.split("\n").length - 1 };
}

/** A diagnostic as the package gives it in its structured form. */
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
  /** Of a document without errors: the text of its title, empty if it has none, and its headings in their order. */
  readonly outline: {
    readonly title: string;
    readonly headings: readonly { readonly level: number; readonly text: string }[];
  };
  /** The lines of the main text that are above the template. */
  readonly linesAbove: number;
}

/** A diagnostic with its place in a text of the project. */
export interface PlacedDiagnostic {
  /** The key of the file; null for the template. */
  readonly key: string | null;
  readonly range: TextRange;
  readonly message: string;
}

/** Where a diagnostic is; null if it is in no text of the user's. */
export function placeOf(
  { package: spec, path, range }: CompilerDiagnostic,
  linesAbove: number,
): Pick<PlacedDiagnostic, "key" | "range"> | null {
  const place = parseRange(range);
  if (place === null || spec !== "") return null;
  // The page itself checks the data, which are no file of the project.
  if (path === DATA_PATH) return null;
  if (path !== MAIN_PATH) return { key: path.replace(/^\//, ""), range: place };
  if (place.from.line < linesAbove) return null;
  const shifted = ({ line, column }: TextRange["from"]) => ({ line: line - linesAbove, column });
  return { key: null, range: { from: shifted(place.from), to: shifted(place.to) } };
}

export function textIn(project: CompilerProject, { key, range }: Pick<PlacedDiagnostic, "key" | "range">): string {
  const text = textOf(project, key).replaceAll("\r\n", "\n");
  const { from, to } = offsetsOf(text, range);
  return text.slice(from, to);
}

/** The text of a file, or of the template; empty if it is none. */
export function textOf({ source, files }: CompilerProject, key: string | null): string {
  if (key === null) return source;
  const file = files.find((each) => each.key === key);
  return file === undefined ? "" : new TextDecoder().decode(file.bytes);
}
