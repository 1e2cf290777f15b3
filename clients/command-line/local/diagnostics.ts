/**
 * Rewrites Typst's diagnostics for the author of a template. Typst counts the lines of the program text, which starts
 * with the prelude, and names files in a temporary folder; authors need the lines of their source and their own paths.
 */
import { styleText } from "node:util";
import { similarName, similarWord } from "../../data-schema/similar-name.ts";
import { explainMessage } from "../../document/plain-words.ts";
import { definedNames } from "../../template/bindings.ts";
import { memberNames, olderTypstHint } from "../../template/older-typst.ts";
import { parseTemplate } from "../../template/syntax-tree.ts";
import { type Project, shownPath } from "../project/project.ts";
import { isAtRoot, originalLines, ownTemplates, SENT_SOURCE } from "../project/sent-texts.ts";
import { printable } from "../terminal.ts";

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

const PLACE = /^(\s*┌─ )(.+):(\d+):(\d+)$/;
const CALL = /^(\s*while .* at )(.+):(\d+):(\d+)$/;
/** A longer line quotes text of the document, and names no place. */
const MAX_PLACE_LENGTH = 10_000;
const GUTTER = /^(\s*)(\d+)( │.*)$/;

function matchPlace(pattern: RegExp, line: string): RegExpExecArray | null {
  return line.length > MAX_PLACE_LENGTH ? null : pattern.exec(line);
}

/** How Typst got to a file, and the line that led there. */
const WAY = /^[ \t]*while .* at <stdin>:\d+:\d+\n.*\n?/gm;

/** @param compiledIn the folder that Typst has seen */
export function rewriteDiagnostics(text: string, project: Project, compiledIn: string): string {
  const { root, sourceName, sourceKey } = project;
  const nameOf = (file: string) => {
    if (file.startsWith("@")) return file;
    return file === SENT_SOURCE || file === sourceKey ? sourceName : shownPath(project, file);
  };
  const known = new Map<string, ReturnType<typeof originalLines>>();
  const linesOf = (file: string) => {
    const lines = known.get(file) ?? originalLines(project, file);
    known.set(file, lines);
    return lines;
  };
  let lineOf = (line: number) => line;
  // Of a source that is not at the root, Typst names the line that includes it.
  return (isAtRoot(sourceKey) ? text : text.replace(WAY, ""))
    .split("\n")
    .map((line) => {
      const place = matchPlace(PLACE, line);
      const [, before = "", file, number = "", column = ""] = place ?? matchPlace(CALL, line) ?? [];
      if (file !== undefined) {
        const originalLine = linesOf(file);
        if (place !== null) lineOf = originalLine;
        return `${before}${nameOf(file)}:${originalLine(Number(number))}:${column}`;
      }
      const [, indent = "", shown, rest = ""] = GUTTER.exec(line) ?? [];
      if (shown !== undefined) return `${indent}${String(lineOf(Number(shown))).padStart(shown.length)}${rest}`;
      return nameMissingPackage(line).replaceAll(compiledIn, root);
    })
    .join("\n");
}

const NO_MEMBER = /^dictionary does not contain key "([^"]*)"/;

const PICTURE_HINT =
  "Typst decodes no Base64: the page /help/templates#a-picture-in-the-data of the service shows a picture that is in the data";
/** A data: URL, or the Base64 of a PNG, JPEG, GIF, WebP, SVG or PDF. */
const PICTURE_AS_PATH =
  /^(error: )(?:file not found \(searched at .*?(?:data:image\/|\/(?:iVBORw0KGgo|9j\/4|R0lGOD|UklGR|PHN2Zy|PD94bW|JVBERi0)).*\)|.*File name too long.*)$/m;
/** `bytes` of a text that is Base64. */
const PICTURE_AS_BYTES = "error: unknown image format";

/** The hint for a picture where Typst wants the name of a file, or its bytes. The name itself is not repeated: it is long. */
function hintOnPicture(diagnostic: string): string | null {
  if (PICTURE_AS_PATH.test(diagnostic)) return PICTURE_HINT;
  return diagnostic.startsWith(PICTURE_AS_BYTES) && diagnostic.includes("bytes(") ? PICTURE_HINT : null;
}

const LABEL_TWICE = /^label `<.*>` occurs multiple times in the document/;
const LABEL_HINT =
  "in a loop, each round needs a label of its own: the page /help/templates#many-letters-in-one-file of the service has one";

const ENDLESS_LOOP = "loop seems to be infinite";
const LOOP_HINT = "Typst refuses more than 10,000 rounds of a while loop; a for loop has no such limit";

/** Adds a hint to the errors that templates for an older Typst get, and to those that beginners' mistakes get. */
export function addHints(text: string, project: Project, data: string): string {
  const members = text.includes("dictionary does not contain key") ? memberNames(data) : [];
  return text
    .split(/\n(?=(?:error|warning): )/)
    .map((diagnostic) => {
      const [, message = ""] = /^error: (.*)/.exec(diagnostic) ?? [];
      const hint =
        olderTypstHint(message, diagnostic) ??
        hintOnPicture(diagnostic) ??
        (message === ENDLESS_LOOP ? LOOP_HINT : null) ??
        (LABEL_TWICE.test(message) ? LABEL_HINT : hintOnMeant(message, diagnostic, members)) ??
        explainMarked(message, diagnostic, project, data);
      if (hint === null) return diagnostic;
      const end = diagnostic
        .trimEnd()
        .replace(PICTURE_AS_PATH, "$1this is the content of a file, such as a picture, not its name");
      return `${end}\n  = hint: ${hint}${diagnostic.slice(diagnostic.trimEnd().length)}`;
    })
    .join("\n");
}

/** The first marked line, and the marks below it. */
const MARKED = /\n *\d+ │ (.*)\n *│ ( *\^+)/;

function hintOnMeant(message: string, diagnostic: string, members: readonly string[]): string | null {
  const [, name] = NO_MEMBER.exec(message) ?? [];
  const longer = members.find((member) => member.startsWith(`${name}.`) || member.startsWith(`${name} `));
  if (longer !== undefined) return `the data has "${longer}", which .at("${longer}") reads`;
  const [, line = "", marks = ""] = MARKED.exec(diagnostic) ?? [];
  const marked = line.slice(marks.indexOf("^"), marks.length);
  const meant = name === undefined ? similarWord(marked, message) : similarName(name, members);
  return meant === null ? null : `did you mean "${meant}"?`;
}

/** What a message means, for people who do not know Typst's words. */
function explainMarked(message: string, diagnostic: string, project: Project, data: string): string | null {
  const [, line = "", marks] = MARKED.exec(diagnostic) ?? [];
  if (marks === undefined) return null;
  const [from, to] = [marks.indexOf("^"), marks.length];
  const [{ file, hints } = { file: null, hints: [] }] = parseDiagnostics(diagnostic);
  const isInSource = file === project.sourceName;
  return explainMessage(message, {
    ...{ marked: line.slice(from, to), before: line.slice(0, from), after: line.slice(to), hints, isInSource },
    names: () => [...definedNames(parseTemplate(project.source.toString("utf8"))), ...memberNames(data)],
    fileThatDefines: (name) => {
      const others = ownTemplates(project).slice(1);
      const found = others.find(({ template }) => definedNames(template).includes(name));
      return found === undefined ? null : `${isInSource && isAtRoot(project.sourceKey) ? "" : "/"}${found.key}`;
    },
  });
}

const NOT_DOWNLOADED =
  /^error: failed to download package \(https?:\/\/[^/\s]+\/([^/\s]+)\/(\S+)-(\d+\.\d+\.\d+)\.tar\.gz: .*\)$/;
const NOT_FOUND = /^error: package not found \(searched for (@\S+)\)$/;
const MISSING_PACKAGE = /^(@\S+) does not exist here$/;

/** Nothing is ever downloaded, so the words of a failed download would have people search their network. */
function nameMissingPackage(line: string): string {
  const [, namespace, name, version] = matchPlace(NOT_DOWNLOADED, line) ?? [];
  const [, local] = matchPlace(NOT_FOUND, line) ?? [];
  if (local !== undefined) return `error: ${local} does not exist here`;
  return namespace === undefined ? line : `error: @${namespace}/${name}:${version} does not exist here`;
}

/** The name of the package that a diagnostic is about, if it is about one that is missing. */
export function missingPackageOf({ message }: Diagnostic): string | null {
  return matchPlace(MISSING_PACKAGE, message)?.[1] ?? null;
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

/** Writes a report to standard error, coloured as Typst's own. */
export function sayDiagnostics(text: string): void {
  const stream = process.stderr;
  const colour = (format: Parameters<typeof styleText>[0], part: string) => styleText(format, part, { stream });
  const coloured = printable(text)
    .replace(/^error:/gm, (word) => colour(["bold", "red"], word))
    .replace(/^warning:/gm, (word) => colour(["bold", "yellow"], word))
    .replace(/^[ \t]*(?:\d+ )?│|^[ \t]*┌─/gm, (gutter) => colour("blue", gutter));
  stream.write(`${coloured}\n`);
}
