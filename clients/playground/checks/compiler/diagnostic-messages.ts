/** The compiler's messages in the words of the page. */

import { closestPath, didYouMean } from "../../../data-schema/similar-name.ts";
import { isOfOlderTypst, OLDER_TYPST_HINT } from "../../../typescript/template-text/template-findings.ts";
import { explainMessage } from "./plain-words.ts";
import type { CompilerProject } from "./project-text.ts";

/** What only this browser lacks: the deployment may have the package, and has all of Typst's fonts. */
const UNKNOWABLE = /^(?:no font could be found|package not found|failed to load package)/;
const NO_FILE = /^failed to load file/;
const MAX_MESSAGE_LENGTH = 500;
const PROJECT_ROOT = /@ws\/p0:0\.0\.0\//g;

/** Null if the diagnostic may be wrong. @param at the text that it is about, and its file (null: the template) */
export function describeDiagnostic(
  message: string,
  at: { readonly key: string | null; readonly text: string },
  project: CompilerProject,
): string | null {
  if (UNKNOWABLE.test(message)) return null;
  if (NO_FILE.test(message)) return describeMissingFile(at, project.files);
  const [first = "", ...typstHints] = message.replace(PROJECT_ROOT, "").split(", hints: ");
  const isOlder = isOfOlderTypst(first, at.text);
  const diagnosed = { marked: at.text, hasHint: typstHints.length > 0, names: () => namesIn(project) };
  const meaning = isOlder ? null : explainMessage(first, diagnosed);
  const hints = isOlder ? [...typstHints, OLDER_TYPST_HINT] : typstHints;
  const said = capitalize(first).replace(LONG_LIST, "$1…");
  const sentences = [said, ...(meaning === null ? hints.map((hint) => `Hint: ${hint}`) : [meaning])];
  const all = sentences.map((sentence) => (/[.?…]$/.test(sentence) ? sentence : `${sentence}.`)).join(" ");
  return all.length > MAX_MESSAGE_LENGTH ? `${all.slice(0, MAX_MESSAGE_LENGTH)}…` : all;
}

/** More words than somebody reads: Typst knows 90 sizes of paper. */
const LONG_LIST = /((?:"[^"]*", ){12})"[^"]*", .*/s;

/** What the template defines, and the members of the data. */
function namesIn({ source, data }: CompilerProject): readonly string[] {
  const defined = source.matchAll(/\blet\s+([\p{L}_][\p{L}\p{N}_-]*)/gu);
  const members = data.matchAll(/"([^"\\]{1,100})"\s*:/g);
  return [...new Set([...defined, ...members].map(([, name = ""]) => name))];
}

function describeMissingFile(
  { key, text }: { readonly key: string | null; readonly text: string },
  files: readonly { readonly key: string }[],
): string {
  const path = /^"([^"\\]+)"$/.exec(text)?.[1];
  if (path === undefined) return "The project has no such file.";
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
