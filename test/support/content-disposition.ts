/**
 * What a `Content-Disposition` field says (RFC 6266), read apart from the library that the service writes it with.
 */

export interface Disposition {
  readonly type: string;
  /** What a client that knows only the first edition of the field sees. */
  readonly plainName: string;
  /** The name that a client of today uses. */
  readonly name: string;
}

const FIELD =
  /^(inline|attachment); filename=(?:"([^"\\]*)"|([A-Za-z0-9!#$%&'*+.^_`|~-]+))(?:; filename\*=UTF-8''(\S+))?$/;

/** Reads the field; throws where it is not of the form that every client understands. */
export function readDisposition(answer: Response): Disposition {
  const field = answer.headers.get("Content-Disposition") ?? "";
  const [, type, quoted, token, extended] = FIELD.exec(field) ?? [];
  const plainName = quoted ?? token;
  if (type === undefined || plainName === undefined) throw new Error(`not a content disposition: ${field}`);
  return { type, plainName, name: extended === undefined ? plainName : decodeURIComponent(extended) };
}
