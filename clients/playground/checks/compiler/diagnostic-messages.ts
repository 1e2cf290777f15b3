/** The compiler's messages in the words of the page. */

import { closestPath, didYouMean } from "../../../data-schema/similar-name.ts";
import { explainMessage } from "../../../document/plain-words.ts";
import { definedNames } from "../../../template/bindings.ts";
import { memberNames, olderTypstHint } from "../../../template/older-typst.ts";
import { parseTemplate } from "../../../template/syntax-tree.ts";

import { type CompilerProject, textOf } from "./project-text.ts";

/** What only this browser lacks: the deployment may have the package, and has all of Typst's fonts. */
const UNKNOWABLE = /^(?:no font could be found|package not found|failed to load package|unknown font family)/;
/** Named by the hint on `**`. */
const HINTED = /^no text within stars/;
const NO_FILE = /^failed to load file/;
const MAX_MESSAGE_LENGTH = 500;
const PROJECT_ROOT = /@ws\/p0:0\.0\.0\//g;

export interface MarkedText {
  /** Null for the template. */
  readonly key: string | null;
  readonly text: string;
  /** The rest of its lines. */
  readonly before: string;
  readonly after: string;
}

/** Null if the diagnostic may be wrong. @param at the text that it is about */
export function describeDiagnostic(message: string, at: MarkedText, project: CompilerProject): string | null {
  if (UNKNOWABLE.test(message) || HINTED.test(message)) return null;
  if (NO_FILE.test(message)) return describeMissingFile(at, project.files);
  const [first = "", ...typstHints] = message.replace(PROJECT_ROOT, "").split(", hints: ");
  const olderHint = olderTypstHint(first, at.before + at.text);
  const diagnosed = {
    ...{ marked: at.text, before: at.before, after: at.after, hints: typstHints, isInSource: at.key === null },
    names: () => namesIn(project),
    fileThatDefines: (name: string) => fileThatDefines(name, project),
  };
  const meaning = olderHint === null ? (explainMessage(first, diagnosed) ?? explainUnknown(first, typstHints)) : null;
  const hints = olderHint === null ? typstHints : [...typstHints, olderHint];
  const said = capitalize(first).replace(LONG_LIST, "$1…");
  const sentences = [said, ...(meaning === null ? hints.map((hint) => `Hint: ${hint}`) : [meaning])];
  const all = sentences.map((sentence) => (/[.?…]$/.test(sentence) ? sentence : `${sentence}.`)).join(" ");
  return all.length > MAX_MESSAGE_LENGTH ? `${all.slice(0, MAX_MESSAGE_LENGTH)}…` : all;
}

function explainUnknown(message: string, hints: readonly string[]): string | null {
  const isUnknown = hints.length === 0 && message.startsWith("unknown variable: ");
  return isUnknown ? "Nothing has this name: define it by #let, or put a text in quotes." : null;
}

/** More words than somebody reads: Typst knows 90 sizes of paper. */
const LONG_LIST = /((?:"[^"]*", ){12})"[^"]*", .*/s;

/** What the template defines, and the members of the data. */
function namesIn({ source, data }: CompilerProject): readonly string[] {
  return [...definedNames(parseTemplate(source)), ...memberNames(data)];
}

function fileThatDefines(name: string, project: CompilerProject): string | null {
  const defined = (text: string) => definedNames(parseTemplate(text)).includes(name);
  const files = project.files.filter(({ key }) => key.endsWith(".typ"));
  return files.find(({ key }) => defined(textOf(project, key)))?.key ?? null;
}

function describeMissingFile({ key, text, before }: MarkedText, files: readonly { readonly key: string }[]): string {
  const path = /^"([^"\\]+)"$/.exec(text)?.[1];
  if (path === undefined) {
    const isData = /\b(?:csv|json|toml|xml|yaml)\($/.test(before);
    const other = isData
      ? "A text is read by bytes, as in csv(bytes(data.rows))."
      : "An image is a file of the request.";
    return `The value here is no path of a file. ${other}`;
  }
  if (/^https?:/.test(path)) return "Nothing is loaded from the web: add the file, and name it by its path.";
  const keys = files.map(({ key }) => key);
  const folder = key?.slice(0, key.lastIndexOf("/") + 1) ?? "";
  const sought = resolvePath(path.startsWith("/") ? path : folder + path);
  const closest = closestPath(path.replace(/^\//, ""), keys);
  const suggested = closest !== null && folder !== "" ? `/${closest}` : closest;
  return `The project has no file “${folder === "" ? path : sought}”.${didYouMean(suggested)}`;
}

function resolvePath(path: string): string {
  const parts: string[] = [];
  for (const part of path.split("/")) {
    if (part === "..") parts.pop();
    else if (part !== "." && part !== "") parts.push(part);
  }
  return parts.join("/");
}

function capitalize(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
