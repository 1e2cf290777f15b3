/**
 * The field errors of one request, gathered over the whole body and answered together.
 *
 * Each kind of error belongs to one problem code, and the kinds are ranked: plain field errors first, then an unknown
 * format, then a bad key, then bad file data. The answer's code is that of the highest rank met.
 */
import { describeInvalidKey } from "./files-rules.ts";
import { type Problem, problem, type ValidationError, type ValidationErrors } from "./problem.ts";
import { MAX_MESSAGE_CODE_POINTS, quote, shorten, shortenPath } from "./quote.ts";

/** More errors than this are counted in `errors_total`, not listed. */
export const MAX_REPORTED_ERRORS = 20;

/** Every `type` of a validation error, with its meaning; output rules add theirs under their own ids. */
export const ERROR_TYPES = {
  missing: "A required field is absent.",
  unknown_field: "The field is unknown, misspelled or an option of another output format.",
  duplicate_field: "The object has the same field or key more than once.",
  wrong_type: "The value has the wrong JSON type.",
  not_allowed: "The value is not one of those allowed for the field.",
  too_short: "The string is empty.",
  too_long: "The array has too many items.",
  out_of_range: "The number is not an integer or is outside the field's range.",
  lone_surrogate: "The string contains a lone surrogate, which UTF-8 cannot encode.",
  number_out_of_range:
    "The number in `data` is too large for Typst to read as a floating-point number: from about 1.7976931348623157e308 on, where near this border the number of digits decides too.",
  nesting_too_deep: "Arrays and objects in `data` are nested more than 127 levels deep.",
  reserved_key:
    "`data` contains an object whose only key is `$__toml_private_datetime` and whose value is a date or time: Typst would turn the object into a date.",
  unsupported_format: "`format` is not one of the output formats.",
  invalid_key: "The files key breaks the key rules.",
  invalid_base64:
    "The content is not Base64 as in RFC 4648 section 4: padded, no spaces or line breaks, unused bits zero.",
} as const;

export type ErrorType = keyof typeof ERROR_TYPES;

type Path = readonly (string | number)[];

export class ValidationErrorList {
  readonly #reported: ValidationError[] = [];
  #total = 0;
  #hasPlainFieldError = false;
  #hasUnsupportedFormat = false;
  #firstInvalidKey: string | null = null;
  /** The key of the first file with bad data; null for `source`, undefined for none. */
  #firstBadFile: string | null | undefined = undefined;

  /** Whether errors from here on are counted and not listed: their places and messages need not be made. */
  get isFull(): boolean {
    return this.#reported.length === MAX_REPORTED_ERRORS;
  }

  /** A field that is missing, malformed, unknown or misplaced. */
  addFieldError(loc: Path, type: ErrorType, msg: string): void {
    this.#hasPlainFieldError = true;
    this.#add(loc, type, msg);
  }

  /** Field errors of which only the number is known. */
  addUnreported(count: number): void {
    if (count > 0) this.#hasPlainFieldError = true;
    this.#total += count;
  }

  addUnsupportedFormat(format: string): void {
    this.#hasUnsupportedFormat = true;
    this.#add(["output", "format"], "unsupported_format", `format must be pdf, png or svg, not ${quote(format)}`);
  }

  /** A key that breaks the key rules. It must not show in the context, so its error points to `files` alone. */
  addInvalidKey(key: string): void {
    this.#firstInvalidKey ??= key;
    if (!this.isFull) this.#add(["files"], "invalid_key", describeInvalidKey(key));
    else this.#total++;
  }

  /** Source that is no Unicode text. */
  addBadSource(msg: string): void {
    if (this.#firstBadFile === undefined) this.#firstBadFile = null;
    this.#add(["source"], "lone_surrogate", msg);
  }

  /** File content that cannot be taken as what its encoding says. A key that breaks the rules must not show here. */
  addBadFile(key: string, isValidKey: boolean, type: "invalid_base64" | "lone_surrogate", msg: string): void {
    if (isValidKey && this.#firstBadFile === undefined) this.#firstBadFile = key;
    this.#add(isValidKey ? ["files", key, "content"] : ["files"], type, msg);
  }

  /** The problem that reports all errors together, or null when there are none. */
  toProblem(): Problem | null {
    if (this.#total === 0) return null;
    const errors: ValidationErrors = {
      errors: this.#reported,
      ...(this.#total > this.#reported.length && { errors_total: this.#total }),
    };
    if (this.#hasPlainFieldError) return problem("invalid_request", this.#summary("a field is not valid"), errors);
    if (this.#hasUnsupportedFormat) {
      return problem("unsupported_format", "output.format must be pdf, png or svg.", errors);
    }
    if (this.#firstInvalidKey !== null) {
      const detail = `The files key ${quote(this.#firstInvalidKey)} is not valid: ${describeInvalidKey(this.#firstInvalidKey)}.`;
      return problem("invalid_template_path", detail, errors);
    }
    const key = this.#firstBadFile ?? null;
    const place = key === null ? "source" : `The content of the file ${quote(key)}`;
    return problem("invalid_file_data", `${place} is not valid for its encoding.`, {
      ...errors,
      ...(key !== null && { key }),
    });
  }

  #add(loc: Path, type: ErrorType, msg: string): void {
    this.#total++;
    if (this.isFull) return;
    this.#reported.push({ loc: shortenPath(loc), msg: shorten(msg, MAX_MESSAGE_CODE_POINTS), type });
  }

  #summary(fallback: string): string {
    const first = this.#reported.find(({ type }) => type !== "invalid_key");
    if (first === undefined) return `The request is not valid: ${fallback}.`;
    const place = first.loc.length === 0 ? "" : `${shorten(first.loc.join("."), MAX_MESSAGE_CODE_POINTS)}: `;
    const more = this.#total > 1 ? ` (and ${this.#total - 1} more)` : "";
    return `The request is not valid. ${place}${first.msg}${more}.`;
  }
}
