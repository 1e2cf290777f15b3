/** Validates the declared size, the media type and the codings of a render request, before its JSON. */
import { parse as parseContentType } from "content-type";
import type { Limits } from "./limits.ts";
import { type Problem, problem, requestTooLarge } from "./problem.ts";

export interface RequestHead {
  readonly contentLength: string | null;
  readonly contentType: string | null;
  readonly contentEncoding: string | null;
  readonly transferEncoding: string | null;
}

/** The `Content-Length` of the request, or null. HTTP servers reject a malformed one before it gets here. */
export function declaredSize({ contentLength }: RequestHead): number | null {
  return contentLength !== null && /^[0-9]+$/.test(contentLength) ? Number(contentLength) : null;
}

export function validateDeclaredSize(head: RequestHead, { max_request_body_bytes: limit }: Limits): Problem | null {
  const size = declaredSize(head);
  return size !== null && size > limit ? requestTooLarge(size, limit) : null;
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
  // Nearly every client sends exactly this, so most requests need no parser.
  if (contentType === "application/json") return true;
  let count = 0;
  const numbered = `${contentType};charset=utf-8`.replace(/charset/gi, () => `charset~${++count}~`);
  const { type, parameters } = parseContentType(numbered);
  const charsets = Object.keys(parameters).filter((name) => /^charset~[0-9]+~$/.test(name));
  const isClosed = charsets.includes(`charset~${count}~`);
  return type === "application/json" && isClosed && charsets.every((name) => UTF8.test(parameters[name] ?? ""));
}
