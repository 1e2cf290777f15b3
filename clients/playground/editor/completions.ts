/** Completions in Typst code: members of the data and, within strings, names of files. */
import type { Completion, CompletionContext, CompletionResult, CompletionSource } from "@codemirror/autocomplete";
import { parseJson } from "../../typescript/transport.ts";
import type { Draft } from "../drafts/draft.ts";

const NAME = String.raw`[\p{L}_][\p{L}\p{N}_-]*`;
const MEMBERS = String.raw`(?:\.${NAME}(?:\([^()\n]*\))?)*`;
/** A chain of members that ends at the cursor: `data.items.first().na`. */
const CHAIN = new RegExp(String.raw`(?<![\w.-])(${NAME})(${MEMBERS})\.([\p{L}\p{N}_-]*)$`, "u");
const IDENTIFIER = new RegExp(`^${NAME}$`, "u");
const ELEMENT_METHODS = new Set(["at", "first", "last", "find"]);
/** Arrays can be long, but most have elements of the same form. */
const MAX_ELEMENTS = 100;
const MAX_CHAIN_CODE_UNITS = 500;
/** Loops and closures are looked for this far before the cursor. */
const MAX_SCANNED_CODE_UNITS = 20_000;

export function completionsFor(draft: () => Draft, ownKey: () => string): readonly CompletionSource[] {
  return [(context) => completeMember(context, draft()), (context) => completeFile(context, draft(), ownKey())];
}

function completeMember({ state, pos }: CompletionContext, { data }: Draft): CompletionResult | null {
  const line = state.sliceDoc(Math.max(state.doc.lineAt(pos).from, pos - MAX_CHAIN_CODE_UNITS), pos);
  const [, root, chain = "", typed = ""] = CHAIN.exec(line) ?? [];
  if (root === undefined) return null;
  const scanned = state.sliceDoc(Math.max(0, pos - MAX_SCANNED_CODE_UNITS), pos);
  const path = root === "data" ? chain : pathOfVariable(scanned, root, chain);
  const options = path === null ? [] : membersAt(parseData(data), path);
  return options.length === 0 ? null : { from: pos - typed.length, options, validFor: /^[\p{L}\p{N}_-]*$/u };
}

/** The last `for x in data.items` or `data.items.map(x => …)` before the cursor, as a path to the elements. */
function pathOfVariable(before: string, name: string, chain: string): string | null {
  const variable = RegExp.escape(name);
  const loop = `\\bfor\\s+${variable}\\s+in\\s+data(?<looped>${MEMBERS}?)(?![\\p{L}\\p{N}_.(-])`;
  const closure = `\\bdata(?<mapped>${MEMBERS}?)\\.(?:map|filter|find|any|all|sorted|each)\\(\\s*\\(?${variable}\\)?\\s*=>`;
  const { looped, mapped } = [...before.matchAll(new RegExp(`${loop}|${closure}`, "gu"))].at(-1)?.groups ?? {};
  const members = looped ?? mapped;
  return members === undefined ? null : `${members}.first()${chain}`;
}

function membersAt(data: unknown, path: string): Completion[] {
  let values = [data];
  for (const segment of path.split(".").slice(1)) {
    const [, name = "", call = ""] = /^([^(]*)(\(.*)?$/.exec(segment) ?? [];
    values = values.flatMap((value) => {
      if (Array.isArray(value)) return call !== "" && ELEMENT_METHODS.has(name) ? value.slice(0, MAX_ELEMENTS) : [];
      if (name === "at") return memberOf(value, /^\("([^"]*)"/.exec(call)?.[1] ?? "");
      return call === "" ? memberOf(value, name) : [];
    });
  }
  const options = new Map<string, Completion>();
  for (const value of values) {
    if (typeof value !== "object" || value === null || Array.isArray(value)) continue;
    for (const [name, member] of Object.entries(value)) {
      // Other names have to be read by `at("…")`.
      if (IDENTIFIER.test(name)) options.set(name, { label: name, type: "property", detail: kindOf(member) });
    }
  }
  return [...options.values()];
}

function memberOf(value: unknown, name: string): unknown[] {
  return typeof value === "object" && value !== null && Object.hasOwn(value, name) ? [Reflect.get(value, name)] : [];
}

function kindOf(value: unknown): string {
  if (value === null) return "none";
  if (Array.isArray(value)) return `array, ${value.length}`;
  return typeof value === "object" ? "dictionary" : typeof value;
}

/** The data is parsed again only when it has changed. While it is not JSON, the last valid value is used. */
let last: { readonly text: string; readonly value: unknown } = { text: "", value: undefined };

function parseData(text: string): unknown {
  if (last.text !== text) last = { text, value: parseJson(text) ?? last.value };
  return last.value;
}

function completeFile({ state, pos }: CompletionContext, { files }: Draft, ownKey: string): CompletionResult | null {
  const before = state.sliceDoc(state.doc.lineAt(pos).from, pos);
  const quotes = [...before.matchAll(/(?<!\\)"/g)];
  const opening = quotes.at(-1);
  if (opening === undefined || quotes.length % 2 === 0) return null;
  const typed = before.slice(opening.index + 1);
  // In markup, a quote does not open a string, so this is probably a sentence.
  if (/[\s,;]/.test(typed)) return null;
  // A file in a folder names others from the root.
  const root = typed.startsWith("/") || ownKey.includes("/") ? "/" : "";
  const options = files
    .filter(({ key }) => key !== ownKey)
    .map(({ key }) => ({ label: `${root}${key}`, type: "file" }));
  return options.length === 0 ? null : { from: pos - typed.length, options, validFor: /^[^"\s,;]*$/ };
}
