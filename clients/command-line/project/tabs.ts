/** Tabs in data: Typst 0.15 shows nothing for one, so what it separates runs together. */
import { isUtf8 } from "node:buffer";
import { lineAt } from "../../template/syntax-tree.ts";
import { parseJson } from "../../typescript/transport.ts";
import { printableLine } from "../terminal.ts";
import { jsonMistake } from "./json-text.ts";
import type { Project } from "./project.ts";
import { ownTemplates, packageRoot } from "./sent-texts.ts";

/** In JSON, a tab is always an escape. */
const TAB = /\\(?:t|u0009)/;
const BETWEEN_WORDS = /\S\t+\S/;
/** In YAML and TOML. */
const QUOTED_ESCAPE = /"[^"\n\\]+\\t[^"\s]/;
/** A template that has one of these may know of them: it splits or replaces, or shows text as it is. */
const MAY_KNOW = /\\[ts]|\\u\{0*9\}|\bsplit\(\)|\braw\b/;

/** @param text JSON @returns a sentence, if a source names the member that has one, or may show all of them */
export function describeTabs(text: string, project: Project): string[] {
  const templates = TAB.test(text) ? textsOfTemplates(project) : [];
  return noteOn(templates.length === 0 ? null : placeInJson(text, "data", templates));
}

/** The same of the first file of data, or of text, that a source names. */
export function describeTabsInFiles(project: Project): string[] {
  const templates = textsOfTemplates(project);
  for (const { key, bytes } of project.files) {
    const [name = "", kind = ""] = /[^/]+\.(json|csv|txt|ya?ml|toml)$/i.exec(key) ?? [];
    if (
      name === "" ||
      packageRoot(key) !== "" ||
      !templates.some((template) => template.includes(name)) ||
      !isUtf8(bytes)
    )
      continue;
    const place = placeInFile(key, kind.toLowerCase(), bytes.toString("utf8"), templates);
    if (place !== null) return noteOn(printableLine(place));
  }
  return [];
}

function noteOn(place: string | null): string[] {
  if (place === null) return [];
  return [
    `${place} has a tab, and Typst shows nothing for one. Write text.split("\\t").join(h(1em)), or put the parts into a table.`,
  ];
}

/** Empty if one of them may know of tabs. */
function textsOfTemplates(project: Project): readonly string[] {
  const texts = ownTemplates(project).map(({ text }) => text);
  return texts.some((text) => MAY_KNOW.test(text)) ? [] : texts;
}

function placeInFile(key: string, kind: string, text: string, templates: readonly string[]): string | null {
  if (kind === "json")
    return TAB.test(text) && jsonMistake(text) === null ? placeInJson(text, `json("${key}")`, templates) : null;
  const found = (kind === "csv" || kind === "txt" ? BETWEEN_WORDS : QUOTED_ESCAPE).exec(text);
  return found === null ? null : `${key}:${lineAt(text, found.index)}`;
}

function placeInJson(text: string, place: string, templates: readonly string[]): string | null {
  const mayShow = (member: string) =>
    templates.some((template) => template.includes(member) || /\.(?:pairs|values)\(\)/.test(template));
  return placeOfTab(parseJson(text), place, mayShow);
}

/** JSON of the rules is no deeper. */
const MAX_DEPTH = 128;

function placeOfTab(value: unknown, place: string, mayShow: (member: string) => boolean, depth = 0): string | null {
  if (typeof value === "string") return BETWEEN_WORDS.test(value) ? place : null;
  if (typeof value !== "object" || value === null || depth > MAX_DEPTH) return null;
  for (const [name, inner] of Object.entries(value)) {
    const isIndex = Array.isArray(value);
    const found = placeOfTab(inner, isIndex ? `${place}.at(${name})` : `${place}.${name}`, mayShow, depth + 1);
    if (found !== null && (isIndex || mayShow(name))) return found;
  }
  return null;
}
