/**
 * The file names of `--each`, filled in from data that may come from anywhere. A value stays within one part of a path,
 * and the rules of names hold for the finished part: "Acme Inc." may begin a name that it could not end.
 */
import { sep } from "node:path";
import { didYouMean, similarName } from "../../data-schema/similar-name.ts";
import { firstInWords } from "../../document/size-in-words.ts";
import { CommandError } from "../exit-codes.ts";
import { itemTexts, memberTexts } from "../project/json-text.ts";
import { printableLine } from "../terminal.ts";
import type { Row } from "./rows.ts";

/** `{name}`, `{address.city}`; `{#}` is the number of the row, `{#:03}` with zeros. */
const PLACEHOLDER = /\{([^{}]*)\}/g;
const NUMBER = /^#(?::0([1-9]))?$/;

export interface NameMistake {
  readonly mistake: string;
  /** The member of the pattern that the row does not have. */
  readonly lacks?: string;
}

/** @throws CommandError for a placeholder that can be no member */
export function requirePlaceholders(pattern: string): void {
  for (const [shown, name = ""] of pattern.matchAll(PLACEHOLDER)) {
    if (name.trim() !== "" && (!name.startsWith("#:") || NUMBER.test(name))) continue;
    throw new CommandError(`--output: ${printableLine(shown)} must be a {name}, {#}, or with zeros in front {#:03}.`);
  }
  const [brace] = /[{}]/.exec(pattern.replace(PLACEHOLDER, "")) ?? [];
  if (brace !== undefined) throw new CommandError(`--output: a ${brace} stands alone. A placeholder is a {name}.`);
}

/** Stands around each value until the parts of the path are told apart. No value has it: see `NEVER_IN_NAMES`. */
const MARK = "\0";

/** The path of a row, whose data is JSON. */
export function fileNameOf(row: Row, pattern: string): { readonly path: string } | NameMistake {
  const values = memberTexts(row.data) ?? itemTexts(row.data);
  let wrong: NameMistake | null = null;
  const marked = pattern.replace(PLACEHOLDER, (_, name: string) => {
    const found = textOf(row, values, name);
    if (typeof found !== "string") {
      wrong ??= found;
      return "";
    }
    const mistake = explainValue(found, name);
    if (mistake !== null) wrong ??= { mistake };
    return `${MARK}${found}${MARK}`;
  });
  if (wrong !== null) return wrong;
  const parts = marked.split(sep === "\\" ? /[/\\]/ : "/");
  for (const [index, part] of parts.entries()) {
    const mistake = part.includes(MARK) ? explainPart(part, index < parts.length - 1) : null;
    if (mistake !== null) return { mistake };
  }
  return { path: marked.replaceAll(MARK, "") };
}

/** JSON texts of members or items, by their names. */
type Values = ReadonlyMap<string, string> | null;

function textOf(row: Row, values: Values, name: string): string | NameMistake {
  const number = NUMBER.exec(name);
  if (number !== null) return String(row.number).padStart(Number(number[1] ?? 0), "0");
  const found = findMember(values, name);
  if (found === null) return { mistake: `there is no {${name}}`, lacks: name };
  if (found.startsWith('"')) return String(JSON.parse(found));
  // The digits as they are written: a double would make the names of two large numbers the same.
  if (/^[-0-9]/.test(found)) return found;
  return { mistake: `{${name}} is ${KINDS[found[0] ?? ""]}, but a file name takes text or a number` };
}

const KINDS: Readonly<Record<string, string>> = {
  "{": "an object",
  "[": "an array",
  t: "a boolean",
  f: "a boolean",
  n: "null",
};

/** The JSON text of a member of exactly this name, or else of a member of a member; null if there is neither. */
function findMember(values: Values, name: string): string | null {
  const own = values?.get(name);
  if (own !== undefined) return own;
  const dot = name.indexOf(".");
  const outer = dot < 0 ? undefined : values?.get(name.slice(0, dot));
  return outer === undefined ? null : findMember(memberTexts(outer) ?? itemTexts(outer), name.slice(dot + 1));
}

const MAX_LISTED_MEMBERS = 30;

/** What a row has instead of the member that it lacks. */
export function membersInWords({ data, place }: Row, lacks: string): string {
  const members = [...(memberTexts(data)?.keys() ?? [])];
  if (members.length === 0) return `${place} has no names: it is not an object with members.`;
  const names = members.map((name) => JSON.stringify(name.slice(0, 80)));
  return `${place} has: ${firstInWords(names, MAX_LISTED_MEMBERS)}.${didYouMean(similarName(lacks, members))}`;
}

/** Separators, invisible characters, and those that Windows forbids in names. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: these are the characters that no name may have.
const NEVER_IN_NAMES = /[/\\<>:"|?*\u0000-\u001f\u007f-\u009f\p{Bidi_Control}]/u;
const RESERVED_ON_WINDOWS = /^(?:con|prn|aux|nul|com[0-9¹²³]|lpt[0-9¹²³]|conin\$|conout\$) *(?:\.|$)/i;
/** What file systems allow: 255 bytes on Linux, 255 characters elsewhere. */
const MAX_NAME_BYTES = 255;

/** Why a value cannot be in any file name; null if it can. It is quoted as JSON. */
function explainValue(value: string, name: string): string | null {
  if (value.trim() === "") return `{${name}} is empty`;
  const shown = `{${name}} is ${JSON.stringify(value.slice(0, 80))}`;
  if (!value.isWellFormed()) return `${shown}, which has half a character`;
  const [character] = NEVER_IN_NAMES.exec(value) ?? [];
  if (character === undefined) return null;
  const takesNone = /[<>:"|?*]/.test(character) ? "on Windows, no file name" : "no file name";
  return `${shown}: ${takesNone} may have the character ${JSON.stringify(character)}`;
}

/** Why no file, or folder, can have this name on every system; null if it can. */
function explainPart(marked: string, isFolder: boolean): string | null {
  const part = marked.replaceAll(MARK, "");
  const kind = isFolder ? "folder" : "name";
  const bytes = Buffer.byteLength(part);
  if (bytes > MAX_NAME_BYTES) return `the ${kind} would have ${bytes} bytes, and file systems allow ${MAX_NAME_BYTES}`;
  const shown = `the ${kind} ${JSON.stringify(part)}`;
  // What the pattern itself begins with is what its author wants.
  const isBegunByValue = marked.startsWith(MARK);
  if (isBegunByValue && part.startsWith(".")) return `${shown} would begin with a dot, which hides it`;
  if (isBegunByValue && /^\s/.test(part)) return `${shown} would begin with a space`;
  // So it is never `..`, either.
  if (/[.\s]$/.test(part)) return `${shown} would end with a dot or a space, which Windows leaves out`;
  return RESERVED_ON_WINDOWS.test(part) ? `${shown} is reserved on Windows` : null;
}
