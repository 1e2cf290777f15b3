/**
 * The documents of a `render --each`: a line of JSON Lines for each, and a file name from its data.
 *
 * All lines are validated before the first is sent. A name is made from data that may come from anywhere, so a value fills
 * exactly one part of a path: it can lead to no other folder, and no two lines write one file.
 */
import { isUtf8 } from "node:buffer";
import { resolve } from "node:path";
import { CommandError } from "../exit-codes.ts";
import { readNamed } from "../project/folder.ts";
import { printableLine } from "../terminal.ts";

export interface EachDocument {
  /** Counted from one. */
  readonly line: number;
  /** The line as it is: JSON text. */
  readonly data: string;
  /** Where its document goes. */
  readonly path: string;
}

const MAX_REPORTED_LINES = 20;
/** File systems take 255 bytes; the name has more than this part, and a temporary name is longer. */
const MAX_VALUE_BYTES = 150;
const PLACEHOLDER = /\{([^{}]+)\}/g;
/** Separators, what Windows refuses in names, and what is invisible in them. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: these are the characters that no name may have.
const UNSAFE = /[/\\<>:"|?*\u0000-\u001f\u007f-\u009f\p{Bidi_Control}]/u;
const RESERVED_ON_WINDOWS = /^(?:con|prn|aux|nul|com[0-9]|lpt[0-9])(?:\.|$)/i;

/** What a line lacks, or null and the document. */
type Line = { readonly document: EachDocument } | { readonly mistake: string };

/**
 * Reads the lines of a file; lines of spaces do not count.
 *
 * @param folder of the project
 * @param template such as `letters/{name}.pdf`; `{address.city}` goes deeper, `{#}` is the number of the line.
 * @throws CommandError that names every line which has no safe file name of its own.
 */
export async function readDocuments(file: string, folder: string, template: string): Promise<EachDocument[]> {
  const bytes = await readNamed(file, file, folder);
  if (!isUtf8(bytes)) throw new CommandError(`${file} is not UTF-8.`);
  const lines = bytes
    .toString("utf8")
    .replace(/^\ufeff/, "")
    .split(/\r?\n/);
  const documents: EachDocument[] = [];
  const mistakes: string[] = [];
  const lineOfPath = new Map<string, number>();
  for (const [index, text] of lines.entries()) {
    if (text.trim() === "") continue;
    const read = readLine(text, index + 1, template);
    if ("mistake" in read) {
      mistakes.push(`${file}:${index + 1}: ${read.mistake}`);
      continue;
    }
    const { document } = read;
    // As file systems that ignore case and the form of accents see it.
    const identity = resolve(document.path).normalize("NFC").toLowerCase();
    const earlier = lineOfPath.get(identity);
    if (earlier !== undefined)
      mistakes.push(`${file}:${index + 1}: ${document.path} is already the file of line ${earlier}`);
    else lineOfPath.set(identity, index + 1);
    documents.push(document);
  }
  if (mistakes.length > 0) throw new CommandError(listMistakes(mistakes));
  if (documents.length === 0) throw new CommandError(`${file} contains no data.`);
  return documents;
}

function readLine(text: string, line: number, template: string): Line {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return { mistake: "the line is not JSON" };
  }
  let mistake: string | null = null;
  const path = template.replace(PLACEHOLDER, (_, name: string) => {
    const part = name === "#" ? String(line) : memberOf(value, name.split("."));
    const found = part === null ? `there is no text or number for {${name}}` : unsafeName(part, name);
    mistake ??= found;
    return part ?? "";
  });
  return mistake === null ? { document: { line, data: text, path } } : { mistake };
}

/** A text or number in the data; null if there is none. */
function memberOf(value: unknown, path: readonly string[]): string | null {
  let found = value;
  for (const name of path) {
    if (typeof found !== "object" || found === null || !Object.hasOwn(found, name)) return null;
    found = new Map(Object.entries(found)).get(name);
  }
  return typeof found === "string" || typeof found === "number" ? String(found) : null;
}

/** Why a value cannot be in a file name; null if it can. The value itself is quoted as JSON. */
function unsafeName(value: string, name: string): string | null {
  const shown = JSON.stringify(value.slice(0, 80));
  if (value.trim() === "") return `{${name}} is empty`;
  if (UNSAFE.test(value)) return `{${name}} is ${shown}, which contains a character that is not allowed in file names`;
  if (/^[.\s]|[.\s]$/.test(value))
    return `{${name}} is ${shown}: a file name must not begin or end with a dot or a space`;
  if (RESERVED_ON_WINDOWS.test(value)) return `{${name}} is ${shown}, which is reserved on Windows`;
  if (!value.isWellFormed()) return `{${name}} is ${shown}, which is not Unicode`;
  if (Buffer.byteLength(value) > MAX_VALUE_BYTES) return `{${name}} is longer than ${MAX_VALUE_BYTES} bytes`;
  return null;
}

function listMistakes(mistakes: readonly string[]): string {
  const more = mistakes.length - MAX_REPORTED_LINES;
  return [
    "Nothing was sent:",
    ...mistakes.slice(0, MAX_REPORTED_LINES).map(printableLine),
    ...(more > 0 ? [`… and ${more} more.`] : []),
  ].join("\n");
}
