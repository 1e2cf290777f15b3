/**
 * Validates the header fields of a render request that are checked before its JSON: the declared length and the media type.
 */
import { parse as parseContentType } from "content-type";
import type { Limits } from "../limits.ts";
import { type Problem, problem } from "../problem.ts";

/** The header fields to validate, as received; null when absent. */
export interface RequestHead {
  readonly contentLength: string | null;
  readonly contentType: string | null;
  readonly contentEncoding: string | null;
}

/**
 * The parser keeps only the first of duplicate parameters, so the field is split before each `charset` and every one is
 * checked. RFC 6838 section 4.3 forbids duplicates, but clients send them.
 */
const BEFORE_CHARSET = /(?=;[ \t]*charset[ \t]*=)/i;
const UTF8 = /^utf-?8$/i;

/** The `Content-Length` of the request, or null. HTTP servers reject a malformed one before it gets here. */
export function declaredSize({ contentLength }: RequestHead): number | null {
  return contentLength !== null && /^[0-9]+$/.test(contentLength) ? Number(contentLength) : null;
}

/** Rejects a body by its declared length, before a byte of it is read. */
export function validateDeclaredSize(head: RequestHead, limits: Limits): Problem | null {
  const size = declaredSize(head);
  return size !== null && size > limits.max_request_body_bytes ? requestTooLarge(head, limits) : null;
}

/** Accepts `application/json` in UTF-8 (RFC 8259) without a content coding. Parameters other than `charset` are ignored. */
export function validateMediaType({ contentType, contentEncoding }: RequestHead): Problem | null {
  if (contentEncoding !== null && contentEncoding.trim().toLowerCase() !== "identity") {
    return problem("invalid_request", "Send the body without Content-Encoding.", {});
  }
  const [mediaType, ...charsets] = (contentType ?? "").split(BEFORE_CHARSET).map((part) => parseContentType(part));
  const isUtf8 = charsets.every(({ parameters }) => UTF8.test(parameters.charset ?? ""));
  if (mediaType?.type === "application/json" && isUtf8) return null;
  return problem("invalid_request", "Send the body as application/json in UTF-8.", {});
}

/** The problem of a body over the limit; it repeats the declared size when there is one. */
export function requestTooLarge(head: RequestHead, limits: Limits): Problem {
  const limit = limits.max_request_body_bytes;
  const declared = declaredSize(head);
  return problem("request_too_large", `The request body is over the limit of ${limit} bytes.`, {
    limit,
    ...(declared !== null && { declared_size: declared }),
  });
}
