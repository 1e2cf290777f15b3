/** What is wrong with an invoice, as a value. */

export interface Finding {
  /** A name that stays the same, such as `attachment-name`. */
  readonly rule: string;
  /** Where: a path in the XML, or a part of the PDF. */
  readonly place: string;
  /** A sentence, which may quote the invoice. */
  readonly message: string;
}

/** Longer messages are cut: they may quote a text of the invoice, which may have megabytes. */
const MAX_MESSAGE_CHARACTERS = 1000;

export function makeFinding(rule: string, place: string, message: string): Finding {
  const isShort = message.length <= MAX_MESSAGE_CHARACTERS;
  return { rule, place, message: isShort ? message : `${message.slice(0, MAX_MESSAGE_CHARACTERS - 1)}…` };
}

export interface Refusal {
  readonly ok: false;
  readonly findings: readonly Finding[];
}

export type Outcome<Value> = { readonly ok: true; readonly value: Value } | Refusal;

export function refuseWith(rule: string, place: string, message: string): Refusal {
  return { ok: false, findings: [makeFinding(rule, place, message)] };
}
