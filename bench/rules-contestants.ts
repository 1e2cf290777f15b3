/**
 * The validation and its competitors, as functions from a body to "accepted or not".
 *
 * Pure, so that the same code runs in Node and inside workerd.
 */
import * as v from "valibot";
import { isValidKey, validateFileSet } from "../rules/files-rules.ts";
import { DEFAULT_LIMITS } from "../rules/limits.ts";
import { OUTPUT_SCHEMAS } from "../rules/output-options.ts";
import { validateOutput } from "../rules/output-rules.ts";
import { parseRenderRequest } from "../rules/render-request.ts";

export type Contestant = (body: Uint8Array) => boolean;

export const CONTESTANTS: Readonly<Record<"validate" | "parse" | "verdict", Contestant>> = {
  validate: (body) => parseRenderRequest(body, DEFAULT_LIMITS).ok,
  parse: (body) => JSON.parse(new TextDecoder().decode(body)) !== undefined,
  verdict: verdictByParsing,
};

const REQUEST_SCHEMA = v.strictObject({
  source: v.pipe(v.string(), v.minLength(1)),
  files: v.optional(
    v.record(
      v.pipe(v.string(), v.check(isValidKey)),
      v.strictObject({ encoding: v.picklist(["text", "base64"]), content: v.string() }),
    ),
    {},
  ),
  data: v.optional(v.unknown()),
  output: v.optional(v.variant("format", [OUTPUT_SCHEMAS.pdf, OUTPUT_SCHEMAS.png, OUTPUT_SCHEMAS.svg]), {
    format: "pdf",
  }),
});

const BASE64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/][AQgw]==|[A-Za-z0-9+/]{2}[AEIMQUYcgkosw048]=)?$/;
const MAX_DATA_DEPTH = 127;

/** The same verdict in the usual way: parse, validate with a schema, then walk the tree for sizes, Base64 and surrogates. */
function verdictByParsing(body: Uint8Array): boolean {
  const parsed = v.safeParse(REQUEST_SCHEMA, JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(body)));
  if (!parsed.success) return false;
  const { source, files, data, output } = parsed.output;
  const keys = Object.keys(files);
  if (validateFileSet(keys, keys.length, DEFAULT_LIMITS) !== null) return false;
  if (!source.isWellFormed() || sizeOf(source) > DEFAULT_LIMITS.max_template_source_bytes) return false;
  for (const { encoding, content } of Object.values(files)) {
    if (!content.isWellFormed() || (encoding === "base64" && !BASE64.test(content))) return false;
    const size = encoding === "text" ? sizeOf(content) : Math.floor((content.length / 4) * 3);
    if (size > DEFAULT_LIMITS.max_inline_file_bytes) return false;
  }
  return isDataAcceptable(data, 0) && validateOutput(output, DEFAULT_LIMITS) === null;
}

function isDataAcceptable(value: unknown, depth: number): boolean {
  if (typeof value === "string") return isStringAcceptable(value);
  if (typeof value === "number") return Number.isFinite(value);
  if (typeof value !== "object" || value === null) return true;
  if (depth === MAX_DATA_DEPTH) return false;
  if (Array.isArray(value)) return value.every((item) => isDataAcceptable(item, depth + 1));
  return Object.entries(value).every(([key, member]) => isStringAcceptable(key) && isDataAcceptable(member, depth + 1));
}

function isStringAcceptable(text: string): boolean {
  // A UTF-16 unit takes at most three bytes, so most strings need not be measured.
  const isSurelySmall = text.length * 3 <= DEFAULT_LIMITS.max_string_bytes;
  return text.isWellFormed() && (isSurelySmall || sizeOf(text) <= DEFAULT_LIMITS.max_string_bytes);
}

const encoder = new TextEncoder();

function sizeOf(text: string): number {
  return encoder.encode(text).length;
}
