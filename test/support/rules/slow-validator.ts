/**
 * A second implementation of the validation: it decodes everything, builds a tree and walks it.
 *
 * It shares with `rules/` only the type of the limits and how a path is shortened. Every number is written out here or in
 * the rules of `published-rules-client.ts`, so that a mistake there cannot be repeated here. The result is the code and
 * the context, or the decoded contents of an accepted request. `msg` and `detail` are prose and are left out.
 *
 * Numbers next to the largest double are no matter of it: Typst itself says which of them it reads
 * (test/rules/json/typst-reads-json.test.ts).
 *
 * It shares these bounds of the fast parser: a number in `output` of more than 1024 bytes is out of range; duplicates of a
 * key of `files` are looked for until there are more than 1024 keys; a string in `output` is read up to 4096 UTF-16 units.
 */
import type { Limits } from "../../../rules/limits.ts";
import { shortenPath } from "../../../rules/quote.ts";
import {
  brokenOutputRule,
  findCollision,
  isValidKeySlowly,
  KEY_RULES,
  type KeyRules,
  OUTPUT_RULES,
  type OutputRules,
} from "./published-rules-client.ts";
import { type JsonMember, type JsonNode, readJson } from "./slow-json.ts";

type Loc = readonly (string | number)[];

interface SlowFile {
  readonly key: string;
  readonly encoding: string;
  readonly content: string;
  readonly size: number;
}

/** An accepted request, decoded. */
export interface SlowRequest {
  readonly source: string;
  readonly files: readonly SlowFile[];
  /** The text of `data`, unchanged from the body. */
  readonly data: string | null;
  readonly output: Readonly<Record<string, unknown>>;
}

export type Verdict =
  | { readonly code: null; readonly request: SlowRequest }
  | { readonly code: string; readonly context: Readonly<Record<string, unknown>> };

const RULES: { readonly keys: KeyRules; readonly output: OutputRules } = { keys: KEY_RULES, output: OUTPUT_RULES };

/** Validates a body as `parseRenderRequest` must. */
export function validateSlowly(body: Uint8Array, limits: Limits, rules = RULES): Verdict {
  let text = "";
  try {
    text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(body);
  } catch {
    // No text is no JSON either.
  }
  const root = readJson(text);
  return root === null ? rejected("invalid_request", {}) : new SlowValidator(text, limits, rules).validate(root);
}

/** Of several field errors, the one whose code is first here determines the code. */
const CODES = ["invalid_request", "unsupported_format", "invalid_template_path", "invalid_file_data"] as const;

interface Found {
  readonly loc: Loc;
  readonly type: string;
  readonly code: (typeof CODES)[number];
  /** Of bad file data: the key of the file. */
  readonly key?: string | undefined;
}

class SlowValidator {
  readonly #text: string;
  readonly #limits: Limits;
  readonly #rules: typeof RULES;
  readonly #errors: Found[] = [];

  constructor(text: string, limits: Limits, rules: typeof RULES) {
    this.#text = text;
    this.#limits = limits;
    this.#rules = rules;
  }

  validate(root: JsonNode): Verdict {
    let source = "";
    let files: { count: number; valid: readonly SlowFile[] } = { count: 0, valid: [] };
    let data: JsonNode | null = null;
    let output: Readonly<Record<string, unknown>> = this.#outputOf(this.#rules.output.defaultFormat, new Map());

    if (root.kind !== "object") {
      this.#add([], "wrong_type");
    } else {
      this.#readMembers(root.members, [], ["source", "files", "data", "output"], ["source"], (name, value) => {
        if (name === "source") source = this.#readSource(value);
        else if (name === "files") files = this.#readFiles(value);
        else if (name === "data") data = this.#readData(value);
        else output = this.#readOutput(value);
      });
    }
    if (this.#errors.length > 0) return this.#verdictOnErrors();
    return (
      validateFileSet(files.valid, files.count, this.#limits, this.#rules.keys) ??
      validateSizes(source, files.valid, data, this.#limits) ??
      validateOutput(output, this.#limits, this.#rules.output) ?? {
        code: null,
        request: { source, files: files.valid, data: data && this.#textOf(data), output },
      }
    );
  }

  #textOf({ start, end }: JsonNode): string {
    return this.#text.slice(start, end);
  }

  #add(loc: Loc, type: string, code: Found["code"] = "invalid_request", key?: string): void {
    this.#errors.push({ loc, type, code, key });
  }

  #verdictOnErrors(): Verdict {
    const code = CODES.find((each) => this.#errors.some((error) => error.code === each)) ?? "";
    const badData = this.#errors.find((error) => error.code === "invalid_file_data");
    return rejected(code, {
      errors: this.#errors.slice(0, 20).map(({ loc, type }) => ({ loc: shortenPath(loc), type })),
      ...(this.#errors.length > 20 && { errors_total: this.#errors.length }),
      ...(code === "invalid_file_data" && badData?.key !== undefined && { key: badData.key }),
    });
  }

  /** Passes on the first member of each of these names, and adds the errors of all others. */
  #readMembers(
    members: readonly JsonMember[],
    loc: Loc,
    names: readonly string[],
    required: readonly string[],
    read: (name: string, value: JsonNode) => void,
  ): void {
    const seen = new Set<string>();
    for (const { key, value } of members) {
      if (!names.includes(key)) this.#add([...loc, key], "unknown_field");
      else if (seen.has(key)) this.#add([...loc, key], "duplicate_field");
      else read(key, value);
      seen.add(key);
    }
    for (const name of required) if (!seen.has(name)) this.#add([...loc, name], "missing");
  }

  #readString(node: JsonNode, loc: Loc): string | null {
    if (node.kind === "string") return node.value;
    this.#add(loc, "wrong_type");
    return null;
  }

  #readSource(node: JsonNode): string {
    const source = this.#readString(node, ["source"]) ?? "";
    if (node.kind === "string" && source === "") this.#add(["source"], "too_short");
    if (!source.isWellFormed()) this.#add(["source"], "lone_surrogate", "invalid_file_data");
    return source;
  }

  #readFiles(node: JsonNode): { count: number; valid: SlowFile[] } {
    const valid: SlowFile[] = [];
    const different: string[] = [];
    let count = 0;
    if (node.kind !== "object") this.#add(["files"], "wrong_type");
    for (const { key, value } of node.kind === "object" ? node.members : []) {
      const isValid = isValidKeySlowly(key, this.#rules.keys);
      if (!isValid) {
        this.#add(["files"], "invalid_key", "invalid_template_path");
      } else if (count <= 1024 && different.includes(key)) {
        this.#add(["files", key], "duplicate_field");
        continue;
      } else {
        different.push(key);
      }
      count++;
      const file = this.#readFile(key, isValid, value);
      if (file !== null && isValid) valid.push(file);
    }
    return { count, valid };
  }

  #readFile(key: string, isValid: boolean, node: JsonNode): SlowFile | null {
    // An invalid key must not appear in the context.
    const loc = isValid ? ["files", key] : ["files"];
    if (node.kind !== "object") {
      this.#add(loc, "wrong_type");
      return null;
    }
    const texts: Record<string, string | null> = {};
    const names = ["encoding", "content"];
    this.#readMembers(node.members, loc, names, names, (name, value) => {
      const text = this.#readString(value, [...loc, name]);
      const isOther = name === "encoding" && text !== null && text !== "text" && text !== "base64";
      if (isOther) this.#add([...loc, name], "not_allowed");
      texts[name] = isOther ? null : text;
    });
    const { encoding = null, content = null } = texts;
    if (encoding === null || content === null) return null;
    const size = encoding === "text" ? textSize(content) : base64Size(content);
    if (size !== null) return { key, encoding, content, size };
    const type = encoding === "text" ? "lone_surrogate" : "invalid_base64";
    this.#add(isValid ? [...loc, "content"] : loc, type, "invalid_file_data", key);
    return null;
  }

  #readData(node: JsonNode): JsonNode {
    for (const { path, string = "", isDateKey, number = "0", depth } of placesIn(node)) {
      if (depth === 128) this.#add(["data", ...path], "nesting_too_deep");
      if (!string.isWellFormed()) this.#add(["data", ...path], "lone_surrogate");
      if (isDateKey) this.#add(["data", ...path], "reserved_key");
      if (!Number.isFinite(Number(number))) this.#add(["data", ...path], "number_out_of_range");
    }
    return node;
  }

  #readOutput(node: JsonNode): Readonly<Record<string, unknown>> {
    if (node.kind !== "object") {
      this.#add(["output"], "wrong_type");
      return {};
    }
    const { fields, formats, defaultFormat } = this.#rules.output;
    const given = new Map<string, JsonNode>();
    const read = (name: string, value: JsonNode) => void given.set(name, value);
    this.#readMembers(node.members, ["output"], Object.values(fields).flat(), [], read);
    const { format = null } = { format: given.get("format") };
    if (format !== null && format.kind !== "string") {
      this.#add(["output", "format"], "wrong_type");
      return {};
    }
    const name = format?.value ?? defaultFormat;
    const own = formats.includes(name) ? fields[name] : undefined;
    if (own === undefined) {
      this.#add(["output", "format"], "unsupported_format", "unsupported_format");
      return {};
    }
    for (const key of given.keys()) if (!own.includes(key)) this.#add(["output", key], "unknown_field");
    return this.#outputOf(name, given);
  }

  /** The values of the fields that a format has, with the errors of those that are given. */
  #outputOf(format: string, given: ReadonlyMap<string, JsonNode>): Readonly<Record<string, unknown>> {
    const output: Record<string, unknown> = { format };
    for (const name of this.#rules.output.fields[format] ?? []) {
      const node = given.get(name);
      if (name === "format") continue;
      if (node === undefined) output[name] = name === "ppi" ? 144 : name === "standards" ? [] : null;
      else output[name] = this.#readOutputField(name, node);
    }
    return output;
  }

  #readOutputField(name: string, node: JsonNode): unknown {
    const loc = ["output", name];
    const rules = this.#rules.output;
    if (node.kind === "null" && rules.nullable.includes(name)) return null;
    switch (name) {
      case "ppi":
        return this.#readInteger(node, loc, rules.minPpi, rules.maxPpi);
      case "page":
        return this.#readInteger(node, loc, rules.minPage, Number.POSITIVE_INFINITY);
      case "version":
        return this.#readChoice(node, loc, rules.versions);
      case "archive":
        return this.#readChoice(node, loc, rules.archives);
      case "standards":
        if (node.kind !== "array") this.#add(loc, "wrong_type");
        else if (node.items.length > rules.maxStandards) this.#add(loc, "too_long");
        else return node.items.map((item, index) => this.#readChoice(item, [...loc, index], rules.standards));
        return [];
      default:
        return this.#readString(node, loc)?.slice(0, 4096);
    }
  }

  /** A number that is not an integer, or too long to be read, is out of range, just as one beyond the bounds. */
  #readInteger(node: JsonNode, loc: Loc, min: number, max: number): number {
    const value = node.kind === "number" && node.text.length <= 1024 ? Number(node.text) : Number.NaN;
    if (node.kind !== "number") this.#add(loc, "wrong_type");
    else if (!this.#rules.output.isInteger(value) || value < min || value > max) this.#add(loc, "out_of_range");
    return value;
  }

  #readChoice(node: JsonNode, loc: Loc, choices: readonly string[]): string {
    const text = this.#readString(node, loc);
    if (text !== null && !choices.includes(text)) this.#add(loc, "not_allowed");
    return text ?? "";
  }
}

function rejected(code: string, context: Readonly<Record<string, unknown>>): Verdict {
  return { code, context };
}

interface DataPlace {
  readonly path: Loc;
  /** The string that is here: a value, or the key that is the last segment of `path`. */
  readonly string?: string;
  readonly isKey?: boolean;
  /** Whether it is the last key of an object that Typst reads as a date. */
  readonly isDateKey?: boolean;
  readonly number?: string;
  /** If a container begins: how many are open, including this one. */
  readonly depth?: number;
}

/** What is in `data`, in the order of its text. Of a container at depth 128, only the beginning is visited. */
function* placesIn(node: JsonNode, path: Loc = [], depth = 0): Generator<DataPlace> {
  if (node.kind === "string") yield { path, string: node.value };
  if (node.kind === "number") yield { path, number: node.text };
  if (node.kind === "array" || node.kind === "object") yield { path, depth: depth + 1 };
  if (depth === 127) return;
  if (node.kind === "array") {
    for (const [index, item] of node.items.entries()) yield* placesIn(item, [...path, index], depth + 1);
  }
  if (node.kind === "object") {
    const isDate = isDateForTypst(node.members);
    for (const [index, { key, value }] of node.members.entries()) {
      const isDateKey = isDate && index === node.members.length - 1;
      yield { path: [...path, key], string: key, isKey: true, isDateKey };
      yield* placesIn(value, [...path, key], depth + 1);
    }
  }
}

const DATE = /^(?:[+-]?(\d{4}-\d\d-\d\d)(?:T(\d\d:\d\d:\d\d)Z?)?|(\d\d:\d\d:\d\d))$/;

/** Whether Typst turns an object into a date: a single key, perhaps repeated, and a string that is a day, a time or both. */
function isDateForTypst(members: readonly JsonMember[]): boolean {
  const last = members.at(-1)?.value;
  if (last?.kind !== "string" || !members.every(({ key }) => key === "$__toml_private_datetime")) return false;
  const [whole, day = "2000-01-01", time, timeAlone = "00:00:00"] = DATE.exec(last.value) ?? [];
  const moment = `${day}T${time ?? timeAlone}`;
  // Whatever is not in the calendar becomes another day, or no date at all.
  const found = new Date(`${moment}.000Z`);
  return whole !== undefined && !Number.isNaN(found.getTime()) && found.toISOString().startsWith(moment);
}

function textSize(content: string): number | null {
  return content.isWellFormed() ? Buffer.byteLength(content) : null;
}

/** Base64 is canonical if decoding and encoding it again does not change it. */
function base64Size(content: string): number | null {
  const bytes = Buffer.from(content, "base64");
  return bytes.toString("base64") === content ? bytes.length : null;
}

/** The set rules, comparing each key with each other. After the rule on their number comes the limit of the deployment. */
function validateFileSet(files: readonly SlowFile[], count: number, limits: Limits, rules: KeyRules): Verdict | null {
  const keys = files.map(({ key }) => key);
  for (const rule of rules.order) {
    if (rule === "too_many_keys") {
      if (count > rules.maxKeys) return rejected("invalid_file_data", { count, limit: rules.maxKeys, rule });
      const limit = limits.effective_max_files;
      if (count > limit) return rejected("invalid_file_data", { count, limit });
      continue;
    }
    const key = findCollision(rule, keys, rules);
    if (key !== undefined) return rejected("invalid_file_data", { rule, key });
  }
  return null;
}

function validateSizes(
  source: string,
  files: readonly SlowFile[],
  data: JsonNode | null,
  limits: Limits,
): Verdict | null {
  const sourceSize = Buffer.byteLength(source);
  const sourceLimit = limits.max_template_source_bytes;
  if (sourceSize > sourceLimit) return rejected("template_source_too_large", { size: sourceSize, limit: sourceLimit });

  const fileLimit = limits.max_inline_file_bytes;
  const file = files.find(({ size }) => size > fileLimit);
  if (file) return rejected("template_file_too_large", { key: file.key, size: file.size, limit: fileLimit });

  const limit = limits.max_string_bytes;
  for (const { path, string = "", isKey } of data === null ? [] : placesIn(data)) {
    const size = Buffer.byteLength(string);
    const subject = isKey ? "key" : "value";
    if (size > limit) return rejected("string_too_large", { path: shortenPath(path), subject, size, limit });
  }
  return null;
}

/**
 * The output rules in the order of docs/api.md#output-rules; the number of pages goes before those that are not about
 * its text.
 */
function validateOutput(output: Readonly<Record<string, unknown>>, limits: Limits, rules: OutputRules): Verdict | null {
  const { id: rule, field } = brokenOutputRule(output, rules) ?? {};
  const isOfPages = rule?.startsWith("page_selection") || rule === "page_range_end_precedes_start";
  if (output.archive === "zip" && typeof output.pages === "string" && !isOfPages) {
    const count = countPagesSlowly(output.pages);
    const limit = limits.max_output_files;
    if (count > limit) return rejected("page_selection_too_large", { count, limit });
  }
  if (rule === undefined) return null;
  return rejected("invalid_request", { rule, errors: [{ loc: ["output", field], type: rule }] });
}

/** How many pages are selected. Cuts at every bound, so that each piece is selected either as a whole or not at all. */
function countPagesSlowly(pages: string): number {
  const ranges = pages.split(",").map((selection) => {
    const [first, last] = selection.split("-");
    // An open range counts as its first page.
    return [Number(first), Number(last || first)] as const;
  });
  const bounds = [...new Set(ranges.flatMap(([first, last]) => [first, last + 1]))].sort((a, b) => a - b);
  const pieces = bounds.map((from, index) => ({ from, pages: (bounds[index + 1] ?? from) - from }));
  const selected = pieces.filter(({ from }) => ranges.some(([first, last]) => first <= from && from <= last));
  return selected.reduce((sum, piece) => sum + piece.pages, 0);
}
