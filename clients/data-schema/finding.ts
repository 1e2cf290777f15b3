/** Mistakes in data or in a schema. Those beyond this number are only counted. */
export const MAX_FINDINGS = 20;

export interface SchemaFinding {
  /** Such as `items[3].price`; empty for the whole text. */
  readonly path: string;
  /** The same as a JSON Pointer (RFC 6901). */
  readonly pointer: string;
  /** In UTF-16 code units. */
  readonly offset: number;
  readonly length: number;
  /** Counted from one. */
  readonly line: number;
  /** Counted from one, in UTF-16 code units. */
  readonly column: number;
  readonly message: string;
}

export function findingInWords(name: string, { line, column, path, message }: SchemaFinding): string {
  return `${name}:${line}:${column}: ${path === "" ? "" : `${path}: `}${message}`;
}

/** Advice for a number or boolean in quotes. Values of CSV have no quotes to leave out. */
export const LEAVE_OUT_QUOTES = ": leave out the quotes";
