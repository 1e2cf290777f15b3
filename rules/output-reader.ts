/**
 * Reads `output` into values that are bounded by construction, and validates them by `output-options.ts`: a string is
 * decoded only as far as a rule looks, and at most one item more than allowed is read of `standards`.
 */
import * as v from "valibot";
import type { JsonCursor } from "./json/cursor.ts";
import { decodeJsonString } from "./json/string.ts";
import {
  DEFAULT_OUTPUT,
  isOutputField,
  isOutputFormat,
  MAX_FILENAME_CODE_UNITS,
  MAX_STANDARDS,
  OUTPUT_SCHEMAS,
  type Output,
  type OutputField,
  type OutputFormat,
} from "./output-options.ts";
import { quote } from "./quote.ts";
import type { ErrorType, ValidationErrorList } from "./validation-errors.ts";

/** A longer number is read as Infinity, which is out of every range. */
const MAX_NUMBER_BYTES = 1024;

const ONE_ISSUE_PER_FIELD = { abortPipeEarly: true } as const;

type SmallValue = string | number | boolean | null | SmallValue[] | Record<string, never>;

type Fields = Partial<Record<OutputField, SmallValue>>;

/** Reads the value at the cursor. It returns null when there were errors, which it adds to the list. */
export function readOutput(cursor: JsonCursor, errors: ValidationErrorList): Output | null {
  const kind = cursor.peekKind();
  if (kind !== "object") {
    cursor.skipValue(null);
    if (kind !== null) errors.addFieldError(["output"], "wrong_type", "output must be an object");
    return null;
  }
  const names: OutputField[] = [];
  const fields = readFields(cursor, errors, names);
  if (cursor.isMalformed) return null;
  const { format = DEFAULT_OUTPUT.format } = fields;
  if (isOutputFormat(format)) return validateFields(format, names, fields, errors);
  if (typeof format === "string") errors.addUnsupportedFormat(format);
  else errors.addFieldError(["output", "format"], "wrong_type", "format must be a string");
  return null;
}

/** Reads the fields, and adds their names to `names` in the order of the body. */
function readFields(cursor: JsonCursor, errors: ValidationErrorList, names: OutputField[]): Fields {
  const fields: Fields = {};
  for (let more = cursor.enterObject(); more; more = cursor.nextMember()) {
    const name = decodeJsonString(cursor.body, cursor.stringSpan(), MAX_FILENAME_CODE_UNITS);
    if (!isOutputField(name)) {
      cursor.skipValue(null);
      errors.addFieldError(["output", name], "unknown_field", "unknown field");
    } else if (fields[name] !== undefined) {
      cursor.skipValue(null);
      errors.addFieldError(["output", name], "duplicate_field", "duplicate field");
    } else {
      names.push(name);
      fields[name] = name === "standards" ? readStandards(cursor) : readSmallValue(cursor);
    }
  }
  return fields;
}

function validateFields(
  format: OutputFormat,
  names: readonly OutputField[],
  fields: Readonly<Fields>,
  errors: ValidationErrorList,
): Output | null {
  const schema = OUTPUT_SCHEMAS[format];
  let hasMisplacedField = false;
  for (const name of names) {
    if (name in schema.entries) continue;
    hasMisplacedField = true;
    errors.addFieldError(["output", name], "unknown_field", `${name} is not an option of ${format}`);
  }
  const result = v.safeParse<typeof schema>(schema, fields, ONE_ISSUE_PER_FIELD);
  if (result.success) return hasMisplacedField ? null : result.output;
  for (const issue of result.issues) {
    const path = (issue.path ?? []).map(({ key }) => (typeof key === "number" ? key : String(key)));
    const { type, expectation } = describeIssue(issue);
    const field = path.findLast((segment) => typeof segment === "string") ?? "output";
    const msg = `${field} ${expectation}, not ${describe(issue.input)}`;
    errors.addFieldError(["output", ...path], type, msg);
  }
  return null;
}

function readStandards(cursor: JsonCursor): SmallValue {
  if (cursor.peekKind() !== "array") return readSmallValue(cursor);
  const items: SmallValue[] = [];
  for (let more = cursor.enterArray(); more; more = cursor.nextItem()) {
    if (items.length <= MAX_STANDARDS) items.push(readSmallValue(cursor));
    else cursor.skipValue(null);
  }
  return items;
}

function readSmallValue(cursor: JsonCursor): SmallValue {
  const kind = cursor.peekKind();
  if (kind === "string") {
    return cursor.readString() ? decodeJsonString(cursor.body, cursor.stringSpan(), MAX_FILENAME_CODE_UNITS) : null;
  }
  const start = cursor.position;
  if (!cursor.skipValue(null)) return null;
  const { body, position: end } = cursor;
  switch (kind) {
    case "number":
      return end - start > MAX_NUMBER_BYTES
        ? Number.POSITIVE_INFINITY
        : Number(String.fromCharCode(...body.subarray(start, end)));
    case "boolean":
      return body[start] === 0x74;
    case "array":
      return [];
    case "object":
      return {};
    default:
      return null;
  }
}

/** The error type and the expectation, in words, for each kind of valibot issue that the schemas can raise. */
function describeIssue(issue: v.BaseIssue<unknown>): { type: ErrorType; expectation: string } {
  switch (issue.type) {
    case "picklist":
      if (typeof issue.input !== "string") return { type: "wrong_type", expectation: "must be a string" };
      return {
        type: "not_allowed",
        expectation: `must be one of ${(issue.expected ?? "").replace(/[()"]/g, "").split(" | ").join(", ")}`,
      };
    case "integer":
      return { type: "out_of_range", expectation: "must be an integer" };
    case "min_value":
      return { type: "out_of_range", expectation: `must be at least ${issue.expected?.slice(2)}` };
    case "max_value":
      return { type: "out_of_range", expectation: `must be at most ${issue.expected?.slice(2)}` };
    case "max_length":
      return { type: "too_long", expectation: `must have at most ${MAX_STANDARDS} items` };
    default:
      return {
        type: "wrong_type",
        expectation: `must be ${issue.expected === "Array" ? "an array" : `a ${issue.expected}`}`,
      };
  }
}

function describe(value: unknown): string {
  if (typeof value === "string") return quote(value);
  // Only the items of `standards` are read.
  if (Array.isArray(value)) return value.length === 0 ? "an array" : `an array of ${value.length}`;
  if (value !== null && typeof value === "object") return "an object";
  if (value === Number.POSITIVE_INFINITY) return `a number above 1.8e308 or of more than ${MAX_NUMBER_BYTES} bytes`;
  if (value === Number.NEGATIVE_INFINITY) return "a number below -1.8e308";
  return String(value);
}
