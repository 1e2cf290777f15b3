/**
 * Validates the media type and the codings of a render request, which are checked before its JSON.
 */
import { parse as parseContentType } from "content-type";
import { type Problem, problem } from "../problem.ts";
import type { DeclaredLength } from "./declared-size.ts";

/** The header fields to validate, as received; null when absent. */
export interface RequestHead extends DeclaredLength {
  readonly contentType: string | null;
  readonly contentEncoding: string | null;
  readonly transferEncoding: string | null;
}

/**
 * The parser keeps only the first of duplicate parameters, so the field is split before each `charset` and every one is
 * checked. RFC 6838 section 4.3 forbids duplicates, but clients send them.
 */
const BEFORE_CHARSET = /(?=;[ \t]*charset[ \t]*=)/i;
const UTF8 = /^utf-?8$/i;

/**
 * Accepts `application/json` in UTF-8 (RFC 8259) without a coding. Parameters other than `charset` are ignored.
 *
 * The servers of edge and backend take `Transfer-Encoding: gzip, chunked` for `chunked` alone (RFC 9112, section 6.1).
 */
export function validateMediaType({ contentType, contentEncoding, transferEncoding }: RequestHead): Problem | null {
  if (transferEncoding !== null && transferEncoding.trim().toLowerCase() !== "chunked") {
    return problem("invalid_request", "Send the body without a transfer coding other than chunked.", {});
  }
  if (contentEncoding !== null && contentEncoding.trim().toLowerCase() !== "identity") {
    return problem("invalid_request", "Send the body without Content-Encoding.", {});
  }
  const [mediaType, ...charsets] = (contentType ?? "").split(BEFORE_CHARSET).map((part) => parseContentType(part));
  const isUtf8 = charsets.every(({ parameters }) => UTF8.test(parameters.charset ?? ""));
  if (mediaType?.type === "application/json" && isUtf8) return null;
  return problem("invalid_request", "Send the body as application/json in UTF-8.", {});
}
