/**
 * Validates a render request: from the bytes of a body to spans in it, or to a Problem. One pass finds JSON errors,
 * field errors, sizes and spans; the problem is then chosen in the order of validation. Nothing big is decoded or
 * copied: the backend writes `source`, files and `data` directly from the spans.
 */
import { type DataErrorList, type DataErrorType, MAX_DATA_DEPTH, pathsAt, validateData } from "./data-rules.ts";
import { isValidKey, KEY_RULES, validateFileSet } from "./files-rules.ts";
import { type Base64Mistake, base64DecodedSize, base64Mistake } from "./json/base64.ts";
import { JsonCursor, type JsonKind } from "./json/cursor.ts";
import { decodeJsonString, findName, type StringSpan } from "./json/string.ts";
import { isUtf8 } from "./json/utf8.ts";
import { type Limits, MAX_KEYS } from "./limits.ts";
import { DEFAULT_OUTPUT, type Output } from "./output-options.ts";
import { readOutput } from "./output-reader.ts";
import { validateOutput } from "./output-rules.ts";
import { type Problem, problem } from "./problem.ts";
import { quote, shortenPath } from "./quote.ts";
import { ValidationErrorList } from "./validation-errors.ts";

const ENCODINGS = ["text", "base64"] as const;

export type Encoding = (typeof ENCODINGS)[number];

export interface RenderFile {
  readonly key: string;
  readonly encoding: Encoding;
  readonly content: StringSpan;
  readonly size: number;
}

export interface ParsedRequest {
  readonly source: StringSpan;
  readonly files: readonly RenderFile[];
  /** Where the JSON text of `data` begins and ends; null when the request has no `data`. */
  readonly data: { readonly start: number; readonly end: number } | null;
  readonly output: Output;
}

export type ParseResult =
  | { readonly ok: true; readonly request: ParsedRequest }
  | { readonly ok: false; readonly problem: Problem };

export function parseRenderRequest(body: Uint8Array, limits: Limits): ParseResult {
  const reader = new RequestReader(body, limits);
  reader.read();
  const verdict = reader.verdict();
  return "code" in verdict ? { ok: false, problem: verdict } : { ok: true, request: verdict };
}

const FIELDS = ["source", "files", "data", "output", "encoding", "content"] as const;

/** Longer than every field name, so that a key that is cut here equals none of them. */
const MAX_FIELD_NAME_CODE_UNITS = 512;

const DATA_ERROR_MESSAGES: Record<DataErrorType, string> = {
  lone_surrogate: "the string contains a lone surrogate, which UTF-8 cannot encode",
  number_out_of_range: "the number is out of range: Typst cannot read it as a floating-point number",
  nesting_too_deep: `arrays and objects are nested more than ${MAX_DATA_DEPTH} levels deep`,
  reserved_key: "the key is reserved: Typst would turn this object into a date",
};

const BASE64_FAULTS: Readonly<Record<Base64Mistake, string>> = {
  data_url: "is a data: URL: send only what follows the comma",
  line_breaks: "has line breaks: encode without them",
  other_text: "is not Base64: send text with the encoding text",
  spaces: "has spaces, perhaps where + was: Base64 has none",
  url_safe: "is URL-safe Base64: use + for - and / for _, and pad with =",
  cut_off: "is cut off: no Base64 has this length",
  padding: "lacks padding: add = until its length is a multiple of four",
  other: "is not valid Base64 (RFC 4648 section 4: padded, no spaces, unused bits zero)",
};

const LONE_SURROGATE_FAULT = "contains a lone surrogate, which UTF-8 cannot encode";

/** The `loc` of errors in an entry whose key is not valid: such a key must not appear in a context. */
const FILES_LOC: readonly string[] = ["files"];
/** The `loc` of errors that are only counted, so that a body of many errors allocates no list for each. */
const UNREPORTED_LOC: readonly string[] = [];

const KIND_IN_WORDS: Readonly<Record<JsonKind, string>> = {
  object: "an object",
  array: "an array",
  string: "a string",
  number: "a number",
  boolean: "a boolean",
  null: "null",
};

/** In UTF-8, or in one of the byte orders of UTF-16. */
function beginsWithByteOrderMark([first, second, third]: Uint8Array): boolean {
  if (first === 0xef) return second === 0xbb && third === 0xbf;
  return (first === 0xff && second === 0xfe) || (first === 0xfe && second === 0xff);
}

class RequestReader {
  readonly #body: Uint8Array;
  readonly #cursor: JsonCursor;
  readonly #limits: Limits;
  readonly #errors = new ValidationErrorList();
  #source: StringSpan | null = null;
  #files: RenderFile[] = [];
  #fileCount = 0;
  #fileTooLarge: RenderFile | null = null;
  #data: { start: number; end: number; errors: DataErrorList } | null = null;
  #output: Output | null = DEFAULT_OUTPUT;

  constructor(body: Uint8Array, limits: Limits) {
    this.#body = body;
    this.#cursor = new JsonCursor(body);
    this.#limits = limits;
  }

  read(): void {
    const cursor = this.#cursor;
    cursor.skipWhitespace();
    const kind = cursor.peekKind();
    if (kind === "object") {
      this.#readRoot();
    } else if (kind !== null) {
      cursor.skipValue(null);
      this.#errors.addFieldError([], "wrong_type", `the request must be a JSON object, not ${KIND_IN_WORDS[kind]}`);
    }
    cursor.expectEnd();
  }

  verdict(): ParsedRequest | Problem {
    const cursor = this.#cursor;
    if (cursor.isMalformed && cursor.malformedAt === 0 && beginsWithByteOrderMark(this.#body)) {
      const detail = "The body is not valid JSON: it begins with a byte order mark. Send UTF-8 without one.";
      return problem("invalid_request", detail, {});
    }
    if (cursor.isMalformed) {
      return problem("invalid_request", `The body is not valid JSON: syntax error at byte ${cursor.malformedAt}.`, {});
    }
    if (!isUtf8(this.#body)) {
      return problem("invalid_request", "The body is not valid JSON: it is not UTF-8.", {});
    }
    const keys = this.#files.map(({ key }) => key);
    const found =
      this.#errors.toProblem() ?? validateFileSet(keys, this.#fileCount, this.#limits) ?? this.#validateSizes();
    if (found !== null) return found;
    const source = this.#source;
    const output = this.#output;
    if (source === null || output === null) throw new Error("a request without field errors lacks a field");
    const outputProblem = validateOutput(output, this.#limits);
    if (outputProblem !== null) return outputProblem;
    const data = this.#data && { start: this.#data.start, end: this.#data.end };
    return { source, files: this.#files, data, output };
  }

  #readRoot(): void {
    const cursor = this.#cursor;
    // At most the four known fields.
    const seen: string[] = [];
    for (let more = cursor.enterObject(); more; more = cursor.nextMember()) {
      const field = this.#fieldName();
      if (seen.includes(field)) {
        this.#skipDuplicate([field]);
        continue;
      }
      switch (field) {
        case "source":
          this.#readSource();
          break;
        case "files":
          this.#readFiles();
          break;
        case "data":
          this.#readData();
          break;
        case "output":
          this.#output = readOutput(cursor, this.#errors);
          break;
        default:
          this.#skipUnknown([field]);
          continue;
      }
      seen.push(field);
    }
    if (!seen.includes("source")) this.#addMissing(["source"], "source");
  }

  #readSource(): void {
    const source = this.#readStringField(["source"]);
    this.#source = source;
    if (source === null) return;
    if (source.size === 0) this.#errors.addFieldError(["source"], "too_short", "source must not be empty");
    if (source.hasLoneSurrogates) {
      this.#errors.addInvalidSource(LONE_SURROGATE_FAULT);
    }
  }

  #readFiles(): void {
    const cursor = this.#cursor;
    if (!this.#expectObject(["files"])) return;
    const maxFiles = this.#limits.effective_max_files;
    const seen = new Set<string>();
    for (let more = cursor.enterObject(); more; more = cursor.nextMember()) {
      const key = decodeJsonString(cursor.body, cursor.stringSpan(), KEY_RULES.max_key_length + 1);
      const isValid = isValidKey(key);
      if (!isValid) {
        this.#errors.addInvalidKey(key);
      } else if (this.#fileCount <= MAX_KEYS) {
        // Past that, keys are only counted, so that a million take little memory and time: nobody accepts so many.
        if (seen.has(key)) {
          this.#skipDuplicate(["files", key]);
          continue;
        }
        seen.add(key);
      }
      this.#fileCount++;
      const file = this.#readFile(key, isValid);
      if (file !== null && isValid && this.#files.length < maxFiles) this.#files.push(file);
    }
  }

  #readFile(key: string, isValid: boolean): RenderFile | null {
    const cursor = this.#cursor;
    const loc = !isValid ? FILES_LOC : this.#errors.isFull ? UNREPORTED_LOC : ["files", key];
    if (!this.#expectObject(loc)) return null;
    let encoding: Encoding | null | undefined;
    let content: StringSpan | null | undefined;
    for (let more = cursor.enterObject(); more; more = cursor.nextMember()) {
      const field = this.#fieldName();
      if (field === "encoding") {
        if (encoding !== undefined) this.#skipDuplicate(this.#fieldLoc(loc, field));
        else encoding = this.#readEncoding(this.#fieldLoc(loc, field));
      } else if (field === "content") {
        if (content !== undefined) this.#skipDuplicate(this.#fieldLoc(loc, field));
        else content = this.#readStringField(this.#fieldLoc(loc, field));
      } else {
        this.#skipUnknown(this.#fieldLoc(loc, field));
      }
    }
    if (cursor.isMalformed) return null;
    if (encoding === undefined) this.#addMissing(this.#fieldLoc(loc, "encoding"), "encoding");
    if (content === undefined) this.#addMissing(this.#fieldLoc(loc, "content"), "content");
    if (!encoding || !content) return null;
    const size = this.#contentSize(key, isValid, encoding, content);
    if (size === null) return null;
    const file = { key, encoding, content, size };
    if (size > this.#limits.max_inline_file_bytes) this.#fileTooLarge ??= file;
    return file;
  }

  #readEncoding(loc: readonly string[]): Encoding | null {
    const span = this.#readStringField(loc);
    if (span === null) return null;
    const encoding = findName(ENCODINGS, this.#cursor.body, span);
    if (encoding !== null) return encoding;
    this.#errors.addFieldError(loc, "not_allowed", `encoding must be one of ${ENCODINGS.join(", ")}`);
    return null;
  }

  #contentSize(key: string, isValid: boolean, encoding: Encoding, content: StringSpan): number | null {
    if (encoding === "text") {
      if (!content.hasLoneSurrogates) return content.size;
      this.#errors.addInvalidFile(key, isValid, "lone_surrogate", LONE_SURROGATE_FAULT);
      return null;
    }
    const size = base64DecodedSize(this.#cursor.body, content);
    if (size !== null) return size;
    const mistake = this.#errors.isFull ? "other" : base64Mistake(this.#cursor.body, content);
    this.#errors.addInvalidFile(key, isValid, "invalid_base64", BASE64_FAULTS[mistake]);
    return null;
  }

  #readData(): void {
    const cursor = this.#cursor;
    const start = cursor.position;
    const errors = validateData(cursor, this.#limits.max_string_bytes);
    if (cursor.isMalformed) return;
    this.#data = { start, end: cursor.position, errors };
    if (errors.count === 0) return;
    const paths = pathsAt(
      cursor.body,
      start,
      errors.first.map(({ offset }) => offset),
    );
    for (const [index, { type }] of errors.first.entries()) {
      this.#errors.addFieldError(["data", ...(paths[index] ?? [])], type, DATA_ERROR_MESSAGES[type]);
    }
    this.#errors.addUnreported(errors.count - errors.first.length);
  }

  #readStringField(loc: readonly string[]): StringSpan | null {
    const cursor = this.#cursor;
    const kind = cursor.peekKind();
    if (kind === "string") return cursor.readString() ? cursor.stringSpan() : null;
    cursor.skipValue(null);
    if (kind !== null) {
      this.#errors.addFieldError(
        loc,
        "wrong_type",
        `${loc.at(-1) ?? "the value"} must be a string, not ${KIND_IN_WORDS[kind]}`,
      );
    }
    return null;
  }

  #expectObject(loc: readonly string[]): boolean {
    const kind = this.#cursor.peekKind();
    if (kind === "object") return true;
    this.#cursor.skipValue(null);
    if (kind !== null) this.#errors.addFieldError(loc, "wrong_type", `expected an object, got ${KIND_IN_WORDS[kind]}`);
    return false;
  }

  #fieldLoc(loc: readonly string[], field: string): readonly string[] {
    return this.#errors.isFull ? UNREPORTED_LOC : [...loc, field];
  }

  #addMissing(loc: readonly string[], field: string): void {
    this.#errors.addFieldError(loc, "missing", `${field} is required`);
  }

  #skipUnknown(loc: readonly string[]): void {
    this.#cursor.skipValue(null);
    this.#errors.addFieldError(loc, "unknown_field", "unknown field");
  }

  #skipDuplicate(loc: readonly string[]): void {
    this.#cursor.skipValue(null);
    this.#errors.addFieldError(loc, "duplicate_field", "duplicate field");
  }

  /** The key that was read last, decoded far enough to compare and to quote it. */
  #fieldName(): string {
    const { body } = this.#cursor;
    const span = this.#cursor.stringSpan();
    return findName(FIELDS, body, span) ?? decodeJsonString(body, span, MAX_FIELD_NAME_CODE_UNITS);
  }

  #validateSizes(): Problem | null {
    const limits = this.#limits;
    const sourceSize = this.#source?.size ?? 0;
    if (sourceSize > limits.max_template_source_bytes) {
      const limit = limits.max_template_source_bytes;
      const detail = `source has ${sourceSize} bytes; the limit is ${limit}.`;
      return problem("template_source_too_large", detail, { size: sourceSize, limit });
    }
    if (this.#fileTooLarge !== null) {
      const { key, size } = this.#fileTooLarge;
      const limit = limits.max_inline_file_bytes;
      const detail = `The file ${quote(key)} has ${size} bytes after decoding; the limit is ${limit}.`;
      return problem("template_file_too_large", detail, { key, size, limit });
    }
    const oversize = this.#data?.errors.firstOversize;
    if (!this.#data || !oversize) return null;
    const [path = []] = pathsAt(this.#cursor.body, this.#data.start, [oversize.offset]);
    const { size, subject } = oversize;
    const limit = this.#limits.max_string_bytes;
    const detail = `A string in data has ${size} bytes; the limit is ${limit}.`;
    return problem("string_too_large", detail, { path: shortenPath(path), subject, size, limit });
  }
}
