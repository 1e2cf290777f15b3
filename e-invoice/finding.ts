/** What is wrong with an invoice, as a value. */

/** One thing that is wrong, or that a receiver may object to. */
export interface Finding {
  /** A rule of the standard, such as `BR-CO-10`, or one of our own, such as `attachment-name`. */
  readonly rule: string;
  /** A warning does not keep a file from being finished. */
  readonly severity: "error" | "warning";
  /** Where: a path in the XML, or a part of the PDF. */
  readonly place: string;
  /** A sentence, which may quote the invoice. */
  readonly message: string;
}

/** The most findings that one check returns. More would not help. */
export const MAX_FINDINGS = 100;

/** Longer messages are cut: they may quote a text of the invoice, which may have megabytes. */
const MAX_MESSAGE_CHARACTERS = 1000;

export function errorAt(rule: string, place: string, message: string): Finding {
  return { rule, severity: "error", place, message: shortened(message) };
}

export function shortened(message: string): string {
  return message.length <= MAX_MESSAGE_CHARACTERS ? message : `${message.slice(0, MAX_MESSAGE_CHARACTERS - 1)}…`;
}

/** A value, or the findings that prevented it. */
export type Outcome<Value> =
  | { readonly ok: true; readonly value: Value }
  | { readonly ok: false; readonly findings: readonly Finding[] };

export function failed(...findings: readonly Finding[]): { readonly ok: false; readonly findings: readonly Finding[] } {
  return { ok: false, findings };
}
