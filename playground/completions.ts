/** What Typst code can be completed by: the members of the data, and the names of the files within strings. */
import type { Completion, CompletionContext, CompletionResult, CompletionSource } from "@codemirror/autocomplete";
import type { Draft } from "./draft.ts";

/** A chain of members that ends at the cursor: `data.items.first().na`. */
const CHAIN =
  /(?<![\w.-])([\p{L}_][\p{L}\p{N}_-]*)((?:\.[\p{L}_][\p{L}\p{N}_-]*(?:\([^()\n]*\))?)*)\.([\p{L}\p{N}_-]*)$/u;
const IDENTIFIER = /^[\p{L}_][\p{L}\p{N}_-]*$/u;
/** Of an array, these give an element. */
const ELEMENT_METHODS = new Set(["at", "first", "last", "find"]);
/** An array is as long as people like; its elements are mostly of one form. */
const MAX_ELEMENTS = 100;
const MAX_CHAIN_CODE_UNITS = 500;

/** @param ownKey the key of the file that is edited, from which names are relative */
export function completionsFor(draft: () => Draft, ownKey: () => string): readonly CompletionSource[] {
  return [(context) => completeMember(context, draft()), (context) => completeFile(context, draft(), ownKey())];
}

/** Names of members of `data`, and of variables that a loop or a closure takes from it. */
export function completeMember(context: CompletionContext, { data }: Pick<Draft, "data">): CompletionResult | null {
  const { text: line, from } = context.state.doc.lineAt(context.pos);
  const before = line.slice(Math.max(0, context.pos - from - MAX_CHAIN_CODE_UNITS), context.pos - from);
  const [, root, chain = "", typed = ""] = CHAIN.exec(before) ?? [];
  if (root === undefined) return null;
  const path = root === "data" ? chain : pathOfVariable(context.state.sliceDoc(0, context.pos), root, chain);
  if (path === null) return null;
  const options = membersAt(parsed(data), path);
  return options.length === 0 ? null : { from: context.pos - typed.length, options, validFor: /^[\p{L}\p{N}_-]*$/u };
}

/** The last `for x in data.items` or `data.items.map(x => …)` before the cursor, as a path of its elements. */
function pathOfVariable(before: string, name: string, chain: string): string | null {
  const escaped = name.replace(/[^\p{L}\p{N}_]/gu, "\\$&");
  const members = "data((?:\\.[\\p{L}_][\\p{L}\\p{N}_-]*(?:\\([^()\\n]*\\))?)*?)";
  const loop = new RegExp(`\\bfor\\s+${escaped}\\s+in\\s+${members}(?![\\p{L}\\p{N}_.(-])`, "gu");
  const closure = new RegExp(
    `\\b${members}\\.(?:map|filter|find|any|all|sorted|each)\\(\\s*\\(?${escaped}\\)?\\s*=>`,
    "gu",
  );
  const last = [...before.matchAll(loop), ...before.matchAll(closure)].toSorted((a, b) => a.index - b.index).at(-1);
  return last === undefined ? null : `${last[1] ?? ""}.first()${chain}`;
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
      // Others are read by `at("…")`.
      if (IDENTIFIER.test(name)) options.set(name, { label: name, type: "property", detail: kindOf(member) });
    }
  }
  return [...options.values()];
}

function memberOf(value: unknown, name: string): unknown[] {
  if (typeof value !== "object" || value === null || !Object.hasOwn(value, name)) return [];
  const members: { readonly [name: string]: unknown } = { ...value };
  return [members[name]];
}

function kindOf(value: unknown): string {
  if (value === null) return "none";
  if (Array.isArray(value)) return `array, ${value.length}`;
  return typeof value === "object" ? "dictionary" : typeof value;
}

/** The data is parsed again when it has changed. While it is not JSON, its last form counts. */
let last: { readonly text: string; readonly value: unknown } = { text: "", value: undefined };

function parsed(text: string): unknown {
  if (last.text === text) return last.value;
  try {
    last = { text, value: JSON.parse(text) };
  } catch {
    last = { ...last, text };
  }
  return last.value;
}

/** Names of files within a string. */
export function completeFile(
  context: CompletionContext,
  { files }: Pick<Draft, "files">,
  ownKey: string,
): CompletionResult | null {
  const { text: line, from } = context.state.doc.lineAt(context.pos);
  const before = line.slice(0, context.pos - from);
  const quotes = [...before.matchAll(/(?<!\\)"/g)];
  const opening = quotes.at(-1);
  if (opening === undefined || quotes.length % 2 === 0) return null;
  const typed = before.slice(opening.index + 1);
  // A quote in markup opens nothing: people write sentences there.
  if (/[\s,;]/.test(typed)) return null;
  const options = files
    .filter(({ key }) => key !== ownKey)
    .map(
      ({ key }): Completion => ({ label: typed.startsWith("/") ? `/${key}` : relativePath(ownKey, key), type: "file" }),
    );
  if (options.length === 0) return null;
  return { from: context.pos - typed.length, options, validFor: /^[^"\s,;]*$/ };
}

/** How a file is named in another: relative to that one's folder. */
export function relativePath(fromKey: string, toKey: string): string {
  const from = fromKey.split("/").slice(0, -1);
  const to = toKey.split("/");
  let shared = 0;
  while (shared < from.length && shared < to.length - 1 && from[shared] === to[shared]) shared++;
  return [...from.slice(shared).map(() => ".."), ...to.slice(shared)].join("/");
}
