/** A mistake in data or in a schema: where it is and what is wrong, for people. */

/** Mistakes beyond this number are only counted. */
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

/** A mistake in one line of text: where it is, and what is wrong. @param name of the file */
export function findingInWords(name: string, { line, column, path, message }: SchemaFinding): string {
  return `${name}:${line}:${column}: ${path === "" ? "" : `${path}: `}${message}`;
}
