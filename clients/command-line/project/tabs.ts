/** Tabs in data: Typst 0.15 shows nothing for one, so what it separates runs together. */
import { isUtf8 } from "node:buffer";
import { parseJson } from "../../typescript/transport.ts";
import type { Project } from "./project.ts";

/** In JSON, a tab is always an escape. */
const TAB = /\\(?:t|u0009)/;
const BETWEEN_WORDS = /\S\t+\S/;
/** A template that has one of these may know of them: it splits or replaces, or shows text as it is. */
const MAY_KNOW = /\\[ts]|\\u\{0*9\}|\bsplit\(\)|\braw\b/;

/** @param text JSON @returns a sentence, if a source names the member that has one, or may show all of them */
export function describeTabs(text: string, { source, files }: Project): string[] {
  if (!TAB.test(text)) return [];
  const own = files.filter(({ key }) => key.endsWith(".typ") && !key.startsWith("packages/"));
  const sources = [source, ...own.map(({ bytes }) => bytes)].filter(isUtf8);
  const templates = sources.map((bytes) => bytes.toString("utf8"));
  if (templates.some((template) => MAY_KNOW.test(template))) return [];
  const mayShow = (member: string) =>
    templates.some((template) => template.includes(member) || /\.(?:pairs|values)\(\)/.test(template));
  const place = placeOfTab(parseJson(text), "data", mayShow);
  if (place === null) return [];
  return [
    `${place} has a tab, and Typst shows nothing for one. Write text.split("\\t").join(h(1em)), or put the parts into a table.`,
  ];
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
