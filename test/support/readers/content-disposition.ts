/**
 * A reader of the `Content-Disposition` field (RFC 6266), independent of the library with which the service writes it.
 */

const FIELD =
  /^(inline|attachment); filename=(?:"([^"\\]*)"|([A-Za-z0-9!#$%&'*+.^_`|~-]+))(?:; filename\*=UTF-8''(\S+))?$/;

/**
 * @returns `name` for current clients, `plainName` for those that do not know the extended notation.
 * @throws unless the field has the form that every client understands.
 */
export function readDisposition(answer: Response) {
  const field = answer.headers.get("Content-Disposition") ?? "";
  const [, type, quoted, token, extended] = FIELD.exec(field) ?? [];
  const plainName = quoted ?? token;
  if (type === undefined || plainName === undefined) throw new Error(`not a content disposition: ${field}`);
  return { type, plainName, name: extended === undefined ? plainName : decodeURIComponent(extended) };
}
