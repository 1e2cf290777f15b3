/** Validates the media type and the codings of a render request, which are checked before its JSON. */
import { parse as parseContentType } from "content-type";
import type { DeclaredLength } from "./declared-size.ts";
import { type Problem, problem } from "./problem.ts";

export interface RequestHead extends DeclaredLength {
  readonly contentType: string | null;
  readonly contentEncoding: string | null;
  readonly transferEncoding: string | null;
}

const UTF8 = /^utf-?8$/i;

/**
 * Accepts `application/json` in UTF-8 (RFC 8259) without a coding. HTTP servers treat `Transfer-Encoding: gzip,
 * chunked` like `chunked` alone (RFC 9112, section 6.1).
 */
export function validateMediaType({ contentType, contentEncoding, transferEncoding }: RequestHead): Problem | null {
  if (transferEncoding !== null && transferEncoding.trim().toLowerCase() !== "chunked") {
    return problem("invalid_request", "Send the body without a transfer coding other than chunked.", {});
  }
  if (contentEncoding !== null && contentEncoding.trim().toLowerCase() !== "identity") {
    return problem("invalid_request", "Send the body without Content-Encoding.", {});
  }
  if (isJsonInUtf8(contentType ?? "")) return null;
  return problem("invalid_request", "Send the body as application/json in UTF-8.", {});
}

/**
 * Every `charset` is checked, under a name of its own: clients send several, and the parser keeps the first of a name.
 * The last one is added here, and is missing if a quotation mark is not closed.
 */
function isJsonInUtf8(contentType: string): boolean {
  let count = 0;
  const numbered = `${contentType};charset=utf-8`.replace(/charset/gi, () => `charset~${++count}~`);
  const { type, parameters } = parseContentType(numbered);
  const charsets = Object.keys(parameters).filter((name) => /^charset~[0-9]+~$/.test(name));
  const isClosed = charsets.includes(`charset~${count}~`);
  return type === "application/json" && isClosed && charsets.every((name) => UTF8.test(parameters[name] ?? ""));
}
