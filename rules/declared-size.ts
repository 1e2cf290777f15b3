/** The declared length of a body. Apart from the media type, whose parser clients of the library would download too. */
import type { Limits } from "./limits.ts";
import { type Problem, problem } from "./problem.ts";

export interface DeclaredLength {
  readonly contentLength: string | null;
}

/** The `Content-Length` of the request, or null. HTTP servers reject a malformed one before it gets here. */
export function declaredSize({ contentLength }: DeclaredLength): number | null {
  return contentLength !== null && /^[0-9]+$/.test(contentLength) ? Number(contentLength) : null;
}

export function validateDeclaredSize(head: DeclaredLength, limits: Limits): Problem | null {
  const size = declaredSize(head);
  return size !== null && size > limits.max_request_body_bytes ? requestTooLarge(head, limits) : null;
}

export function requestTooLarge(head: DeclaredLength, limits: Limits): Problem {
  const limit = limits.max_request_body_bytes;
  const declared = declaredSize(head);
  return problem("request_too_large", `The request body is over the limit of ${limit} bytes.`, {
    limit,
    ...(declared !== null && { declared_size: declared }),
  });
}
