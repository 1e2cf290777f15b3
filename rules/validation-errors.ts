/**
 * The field errors of a request, reported together. The problem takes the code of the first kind that occurred: field
 * errors, an unsupported format, an invalid key, invalid file data.
 */
import { describeInvalidKey } from "./files-rules.ts";
import { type Problem, problem, type ValidationError, type ValidationErrors } from "./problem.ts";
import { MAX_MESSAGE_CODE_POINTS, quote, shorten, shortenPath } from "./quote.ts";

export const MAX_REPORTED_ERRORS = 20;

/** Every `type` of a validation error with its meaning. For a broken output rule the type is the id of the rule. */
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
    "The number in `data` is too large for Typst to read as a floating-point number: about 1.7976931348623157e308 or more. Close to this value, the number of digits matters as well.",
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
  #hasFieldError = false;
  #hasUnsupportedFormat = false;
  #firstInvalidKey: string | null = null;
  /** The first file with invalid data, or `source` (then the key is null), with what is wrong with it. */
  #firstInvalidFile: { readonly key: string | null; readonly fault: string } | null = null;

  /** Whether further errors are only counted, so that their `loc` and `msg` need not be computed. */
  get isFull(): boolean {
    return this.#reported.length === MAX_REPORTED_ERRORS;
  }

  addFieldError(loc: Path, type: ErrorType, msg: string): void {
    this.#hasFieldError = true;
    this.#add(loc, type, msg);
  }

  addUnreported(count: number): void {
    if (count > 0) this.#hasFieldError = true;
    this.#total += count;
  }

  addUnsupportedFormat(format: string): void {
    this.#hasUnsupportedFormat = true;
    this.#add(["output", "format"], "unsupported_format", `format must be pdf, png or svg, not ${quote(format)}`);
  }

  /** The key must not appear in the context, so the `loc` is `files` alone. */
  addInvalidKey(key: string): void {
    this.#firstInvalidKey ??= key;
    if (!this.isFull) this.#add(["files"], "invalid_key", describeInvalidKey(key));
    else this.#total++;
  }

  /** `fault` follows "source" in a sentence. */
  addInvalidSource(fault: string): void {
    this.#firstInvalidFile ??= { key: null, fault };
    this.#add(["source"], "lone_surrogate", `source ${fault}`);
  }

  /** An invalid key must not appear in the `loc`. `fault` follows "content" in a sentence. */
  addInvalidFile(key: string, isValidKey: boolean, type: "invalid_base64" | "lone_surrogate", fault: string): void {
    if (isValidKey) this.#firstInvalidFile ??= { key, fault };
    this.#add(isValidKey ? ["files", key, "content"] : ["files"], type, `content ${fault}`);
  }

  toProblem(): Problem | null {
    if (this.#total === 0) return null;
    const errors: ValidationErrors = {
      errors: this.#reported,
      ...(this.#total > this.#reported.length && { errors_total: this.#total }),
    };
    if (this.#hasFieldError) return problem("invalid_request", this.#summary(), errors);
    if (this.#hasUnsupportedFormat) {
      return problem("unsupported_format", "output.format must be pdf, png or svg.", errors);
    }
    if (this.#firstInvalidKey !== null) {
      const detail = `The files key ${quote(this.#firstInvalidKey)} is not valid: ${describeInvalidKey(this.#firstInvalidKey)}.`;
      return problem("invalid_template_path", detail, errors);
    }
    const { key, fault } = this.#firstInvalidFile ?? { key: null, fault: "is not valid" };
    const place = key === null ? "source" : `The content of the file ${quote(key)}`;
    return problem("invalid_file_data", `${place} ${fault}.`, { ...errors, ...(key !== null && { key }) });
  }

  #add(loc: Path, type: ErrorType, msg: string): void {
    this.#total++;
    if (this.isFull) return;
    this.#reported.push({ loc: shortenPath(loc), msg: shorten(msg, MAX_MESSAGE_CODE_POINTS), type });
  }

  #summary(): string {
    const first = this.#reported.find(({ type }) => type !== "invalid_key");
    if (first === undefined) return "The request is not valid: a field is not valid.";
    const place = first.loc.length === 0 ? "" : `${shorten(first.loc.join("."), MAX_MESSAGE_CODE_POINTS)}: `;
    const more = this.#total > 1 ? ` (and ${this.#total - 1} more)` : "";
    return `The request is not valid. ${place}${first.msg}${more}.`;
  }
}
