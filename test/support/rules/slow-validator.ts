/**
 * A second implementation of the validation: it decodes everything, builds a tree and walks it.
 *
 * It shares only the type of the limits with `rules/`, and every number is written out here or in the rules of
 * `published-rules-client.ts`, so that a mistake there cannot be repeated here. The result is the code and the context,
 * or the decoded contents of an accepted request. `msg` and `detail` are prose and are left out. It is slow and takes
 * much memory.
 *
 * Numbers next to the largest double are no matter of it: Typst itself says which of them it reads
 * (test/rules/json/typst-reads-json.test.ts).
 *
 * It shares these documented bounds of the fast parser: a number in `output` of more than 1024 bytes is out of range;
 * duplicates of a key of `files` are found among the first 1024 valid keys, whatever the limit of a deployment; a
 * string in `output` is read up to 4096 UTF-16 units.
 */
import type { Limits } from "../../../rules/limits.ts";
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

/** An error without its prose. */
export interface BareError {
  readonly loc: Loc;
  readonly type: string;
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
  const text = decodeUtf8(body);
  const root = text === null || text.startsWith("\ufeff") ? null : readJson(text);
  if (text === null || root === null) return { code: "invalid_request", context: {} };
  return new SlowValidator(text, limits, rules).validate(root);
}

function decodeUtf8(body: Uint8Array): string | null {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(body);
  } catch {
    return null;
  }
}

/** Of several field errors, the one whose code is first here determines the code. */
const CODES = ["invalid_request", "unsupported_format", "invalid_template_path", "invalid_file_data"] as const;

interface Found extends BareError {
  readonly code: (typeof CODES)[number];
  /** Of bad file data: the key of the file, null for `source`. */
  readonly file?: string | null;
}

interface SlowFile {
  readonly key: string;
  readonly encoding: string;
  readonly content: string;
  readonly size: number;
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
    let output: Readonly<Record<string, unknown>> | null = null;

    if (root.kind !== "object") {
      this.#field([], "wrong_type");
    } else {
      for (const { key, value, isFirst } of withRepetition(root.members)) {
        if (!["source", "files", "data", "output"].includes(key)) this.#field([key], "unknown_field");
        else if (!isFirst) this.#field([key], "duplicate_field");
        else if (key === "source") source = this.#readSource(value);
        else if (key === "files") files = this.#readFiles(value);
        else if (key === "data") data = this.#readData(value);
        else output = this.#readOutput(value);
      }
      if (!root.members.some(({ key }) => key === "source")) this.#field(["source"], "missing");
    }
    if (this.#errors.length > 0) return this.#shapeVerdict();
    output ??= { format: this.#rules.output.defaultFormat, filename: null, version: null, standards: [], pages: null };

    const keys = files.valid.map(({ key }) => key);
    const problem =
      validateFileSet(keys, files.count, this.#limits, this.#rules.keys) ??
      this.#validateSizes(source, files.valid, data) ??
      validateOutput(output, this.#limits, this.#rules.output);
    const dataText = data && this.#text.slice(data.start, data.end);
    return problem ?? { code: null, request: { source, files: files.valid, data: dataText, output } };
  }

  #field(loc: Loc, type: string): void {
    this.#errors.push({ loc, type, code: "invalid_request" });
  }

  #shapeVerdict(): Verdict {
    const code = CODES.find((each) => this.#errors.some((error) => error.code === each)) ?? "";
    const badData = this.#errors.find((error) => error.code === "invalid_file_data");
    return {
      code,
      context: {
        errors: this.#errors.slice(0, 20).map(({ loc, type }) => ({ loc: shortened(loc), type })),
        ...(this.#errors.length > 20 && { errors_total: this.#errors.length }),
        ...(code === "invalid_file_data" && typeof badData?.file === "string" && { key: badData.file }),
      },
    };
  }

  #readSource(node: JsonNode): string {
    const source = this.#readString(node, ["source"]);
    if (source === null) return "";
    if (source === "") this.#field(["source"], "too_short");
    if (!source.isWellFormed()) {
      this.#errors.push({ loc: ["source"], type: "lone_surrogate", code: "invalid_file_data", file: null });
    }
    return source;
  }

  #readString(node: JsonNode, loc: Loc): string | null {
    if (node.kind === "string") return node.value;
    this.#field(loc, "wrong_type");
    return null;
  }

  #readFiles(node: JsonNode): { count: number; valid: SlowFile[] } {
    const valid: SlowFile[] = [];
    let count = 0;
    if (node.kind !== "object") {
      this.#field(["files"], "wrong_type");
      return { count, valid };
    }
    const different: string[] = [];
    for (const { key, value } of node.members) {
      const before = different.indexOf(key);
      const isValid = isValidKeySlowly(key, this.#rules.keys);
      if (!isValid) {
        this.#errors.push({ loc: ["files"], type: "invalid_key", code: "invalid_template_path" });
      } else if (before !== -1 && before < 1024) {
        this.#field(["files", key], "duplicate_field");
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
    const loc = isValid ? ["files", key] : ["files"];
    if (node.kind !== "object") {
      this.#field(loc, "wrong_type");
      return null;
    }
    let encoding: string | null = null;
    let content: string | null = null;
    for (const { key: name, value, isFirst } of withRepetition(node.members)) {
      if (name !== "encoding" && name !== "content") {
        this.#field([...loc, name], "unknown_field");
      } else if (!isFirst) {
        this.#field([...loc, name], "duplicate_field");
      } else if (name === "content") {
        content = this.#readString(value, [...loc, name]);
      } else {
        encoding = this.#readString(value, [...loc, name]);
        if (encoding !== null && encoding !== "text" && encoding !== "base64") {
          this.#field([...loc, name], "not_allowed");
          encoding = null;
        }
      }
    }
    for (const name of ["encoding", "content"]) {
      if (!node.members.some((member) => member.key === name)) this.#field([...loc, name], "missing");
    }
    if (encoding === null || content === null) return null;
    const size = encoding === "text" ? textSize(content) : base64Size(content);
    if (size !== null) return { key, encoding, content, size };
    this.#errors.push({
      // An invalid key must not appear in the context.
      loc: isValid ? [...loc, "content"] : ["files"],
      type: encoding === "text" ? "lone_surrogate" : "invalid_base64",
      code: "invalid_file_data",
      file: key,
    });
    return null;
  }

  #readData(node: JsonNode): JsonNode {
    forEachInData(node, ({ path, string = "", isDateKey, number = "0", depth }) => {
      if (depth === 128) this.#field(["data", ...path], "nesting_too_deep");
      if (!string.isWellFormed()) this.#field(["data", ...path], "lone_surrogate");
      if (isDateKey) this.#field(["data", ...path], "reserved_key");
      if (!Number.isFinite(Number(number))) this.#field(["data", ...path], "number_out_of_range");
    });
    return node;
  }

  #readOutput(node: JsonNode): Readonly<Record<string, unknown>> | null {
    if (node.kind !== "object") {
      this.#field(["output"], "wrong_type");
      return null;
    }
    const rules = this.#rules.output;
    const known: JsonMember[] = [];
    for (const { key, value, isFirst } of withRepetition(node.members)) {
      if (!Object.values(rules.fields).flat().includes(key)) this.#field(["output", key], "unknown_field");
      else if (!isFirst) this.#field(["output", key], "duplicate_field");
      else known.push({ key, value });
    }
    const format = known.find(({ key }) => key === "format")?.value ?? { kind: "string", value: rules.defaultFormat };
    if (format.kind !== "string") {
      this.#field(["output", "format"], "wrong_type");
      return null;
    }
    const fields = rules.formats.includes(format.value) ? rules.fields[format.value] : undefined;
    if (fields === undefined) {
      this.#errors.push({ loc: ["output", "format"], type: "unsupported_format", code: "unsupported_format" });
      return null;
    }
    for (const { key } of known) if (!fields.includes(key)) this.#field(["output", key], "unknown_field");
    const output: Record<string, unknown> = { format: format.value };
    for (const name of fields) {
      const value = known.find(({ key }) => key === name)?.value;
      if (name !== "format") output[name] = this.#readOutputField(name, value);
    }
    return output;
  }

  #readOutputField(name: string, node: JsonNode | undefined): unknown {
    const loc = ["output", name];
    if (node === undefined) return name === "ppi" ? 144 : name === "standards" ? [] : null;
    const rules = this.#rules.output;
    switch (name) {
      case "ppi":
        return this.#readInteger(node, loc, rules.minPpi, rules.maxPpi);
      case "standards":
        return this.#readStandards(node, loc);
    }
    if (node.kind === "null" && rules.nullable.includes(name)) return null;
    switch (name) {
      case "page":
        return this.#readInteger(node, loc, rules.minPage, Number.POSITIVE_INFINITY);
      case "version":
        return this.#readChoice(node, loc, rules.versions);
      case "archive":
        return this.#readChoice(node, loc, rules.archives);
    }
    return this.#readString(node, loc)?.slice(0, 4096);
  }

  /** A number that is not an integer, or too long to be read, is out of range, just as one beyond the bounds. */
  #readInteger(node: JsonNode, loc: Loc, min: number, max: number): number {
    if (node.kind !== "number") {
      this.#field(loc, "wrong_type");
      return Number.NaN;
    }
    const value = node.text.length > 1024 ? Number.NaN : Number(node.text);
    if (!this.#rules.output.isInteger(value) || value < min || value > max) this.#field(loc, "out_of_range");
    return value;
  }

  #readChoice(node: JsonNode, loc: Loc, choices: readonly string[]): string {
    if (node.kind === "string" && choices.includes(node.value)) return node.value;
    this.#field(loc, node.kind === "string" ? "not_allowed" : "wrong_type");
    return "";
  }

  #readStandards(node: JsonNode, loc: Loc): string[] {
    if (node.kind !== "array") {
      this.#field(loc, "wrong_type");
      return [];
    }
    const { maxStandards, standards } = this.#rules.output;
    if (node.items.length > maxStandards) {
      this.#field(loc, "too_long");
      return [];
    }
    return node.items.map((item, index) => this.#readChoice(item, [...loc, index], standards));
  }

  #validateSizes(source: string, files: readonly SlowFile[], data: JsonNode | null): Verdict | null {
    const sourceSize = Buffer.byteLength(source);
    const sourceLimit = this.#limits.max_template_source_bytes;
    if (sourceSize > sourceLimit)
      return rejected("template_source_too_large", { size: sourceSize, limit: sourceLimit });

    const fileLimit = this.#limits.max_inline_file_bytes;
    const file = files.find(({ size }) => size > fileLimit);
    if (file) return rejected("template_file_too_large", { key: file.key, size: file.size, limit: fileLimit });

    const limit = this.#limits.max_string_bytes;
    const oversize: Verdict[] = [];
    if (data !== null) {
      forEachInData(data, ({ path, string = "", isKey }) => {
        const size = Buffer.byteLength(string);
        const subject = isKey ? "key" : "value";
        if (size > limit) oversize.push(rejected("string_too_large", { path: shortened(path), subject, size, limit }));
      });
    }
    return oversize[0] ?? null;
  }
}

function rejected(code: string, context: Readonly<Record<string, unknown>>): Verdict {
  return { code, context };
}

/** Each member with whether it is the first of its key. */
function withRepetition(members: readonly JsonMember[]): (JsonMember & { readonly isFirst: boolean })[] {
  const seen = new Set<string>();
  return members.map((member) => {
    const isFirst = !seen.has(member.key);
    seen.add(member.key);
    return { ...member, isFirst };
  });
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

/** Visits `data` in the order of its text. Of a container at depth 128, only the beginning is visited. */
function forEachInData(node: JsonNode, visit: (place: DataPlace) => void, path: Loc = [], depth = 0): void {
  if (node.kind === "string") visit({ path, string: node.value });
  if (node.kind === "number") visit({ path, number: node.text });
  if (node.kind === "array" || node.kind === "object") visit({ path, depth: depth + 1 });
  if (depth === 127) return;
  if (node.kind === "array") {
    for (const [index, item] of node.items.entries()) forEachInData(item, visit, [...path, index], depth + 1);
  }
  if (node.kind === "object") {
    const isDate = isDateForTypst(node.members);
    for (const [index, { key, value }] of node.members.entries()) {
      const isDateKey = isDate && index === node.members.length - 1;
      visit({ path: [...path, key], string: key, isKey: true, isDateKey });
      forEachInData(value, visit, [...path, key], depth + 1);
    }
  }
}

/**
 * Whether Typst turns an object into a date: a single key, perhaps repeated, and a string that is a day, a time or
 * both.
 */
function isDateForTypst(members: readonly JsonMember[]): boolean {
  const last = members.at(-1)?.value;
  if (last?.kind !== "string" || !members.every(({ key }) => key === "$__toml_private_datetime")) return false;
  const text = last.value;
  if (isTimeForTypst(text)) return true;
  const [day = "", time, ...rest] = text.split("T");
  if (rest.length > 0 || (time !== undefined && !isTimeForTypst(time.replace(/Z$/, "")))) return false;
  if (!/^[+-]?[0-9]{4}-[0-9]{2}-[0-9]{2}$/.test(day)) return false;
  // Months have the same lengths four hundred years later, and Date would take a year below 100 for 1900 or later.
  const [year = 0, month = 0, date = 0] = day.slice(-10).split("-").map(Number);
  const found = new Date(Date.UTC(year + 400, month - 1, date));
  return found.getUTCFullYear() === year + 400 && found.getUTCMonth() === month - 1 && found.getUTCDate() === date;
}

function isTimeForTypst(text: string): boolean {
  if (!/^[0-9]{2}:[0-9]{2}:[0-9]{2}$/.test(text)) return false;
  const [hour = 0, minute = 0, second = 0] = text.split(":").map(Number);
  return hour < 24 && minute < 60 && second < 60;
}

/** A path as in a response: lone surrogates are escaped, then each segment is cut to 80 characters with an ellipsis. */
function shortened(path: Loc): Loc {
  return path.map((segment) => {
    if (typeof segment === "number") return segment;
    const characters = Array.from(segment).flatMap((character) =>
      character.isWellFormed() ? [character] : [..."\\u", ...character.charCodeAt(0).toString(16)],
    );
    return characters.length > 80 ? `${characters.slice(0, 79).join("")}…` : characters.join("");
  });
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
function validateFileSet(keys: readonly string[], count: number, limits: Limits, rules: KeyRules): Verdict | null {
  const cap = limits.effective_max_files;
  for (const rule of rules.order) {
    if (rule === "too_many_keys") {
      const limit = rules.maxKeys;
      if (count > limit) return rejected("invalid_file_data", { count, limit, rule });
      if (count > cap) return rejected("invalid_file_data", { count, limit: cap });
      continue;
    }
    const key = findCollision(rule, keys, rules);
    if (key !== undefined) return rejected("invalid_file_data", { rule, key });
  }
  return null;
}

/**
 * The output rules in the order of docs/api.md#output-rules; the number of pages goes before those that are not about
 * its text.
 */
function validateOutput(output: Readonly<Record<string, unknown>>, limits: Limits, rules: OutputRules): Verdict | null {
  const { id: rule, field } = brokenOutputRule(output, rules) ?? {};
  const isCountable = output.archive === "zip" && typeof output.pages === "string" && !rule?.startsWith("page_sel");
  if (isCountable && rule !== "page_range_end_precedes_start") {
    const count = countPagesSlowly(String(output.pages));
    const limit = limits.max_output_files;
    if (count > limit) return rejected("page_selection_too_large", { count, limit });
  }
  return rule === undefined
    ? null
    : rejected("invalid_request", { rule, errors: [{ loc: ["output", field], type: rule }] });
}

/** How many pages are selected. Cuts at every bound, so that each piece is selected either as a whole or not at all. */
function countPagesSlowly(pages: string): number {
  const ranges = pages.split(",").map((selection) => {
    const [first, last] = selection.split("-");
    // An open range counts as its first page.
    return [Number(first), Number(last || first)] as const;
  });
  const bounds = [...new Set(ranges.flatMap(([first, last]) => [first, last + 1]))].sort((a, b) => a - b);
  let count = 0;
  for (const [index, from] of bounds.entries()) {
    const next = bounds[index + 1] ?? from;
    if (ranges.some(([first, last]) => first <= from && from <= last)) count += next - from;
  }
  return count;
}
