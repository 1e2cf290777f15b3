/**
 * What is judged of a render request before its JSON: the declared length, the bytes read, the media type.
 *
 * The body itself is read by each platform; `BodyCollector` is the part that both share: it never holds more than the
 * limit, and it allocates once where the length was declared.
 */
import type { Limits } from "./limits.ts";
import { type Problem, problem } from "./problem.ts";

/** The headers that matter, as received; null where absent. */
export interface RequestHead {
  readonly contentLength: string | null;
  readonly contentType: string | null;
  readonly contentEncoding: string | null;
}

/** What a body without a declared length is first given room for; the room doubles as needed. */
const FIRST_CHUNK_BYTES = 64 * 1024;

const UTF8_CHARSET = /^charset="?utf-?8"?$/;

/** The `Content-Length` that the caller sent, or null. HTTP servers have refused malformed ones already. */
export function declaredSize({ contentLength }: RequestHead): number | null {
  return contentLength !== null && /^[0-9]+$/.test(contentLength) ? Number(contentLength) : null;
}

/** Refuses a body by the length that it declares, before a byte of it is read. */
export function judgeDeclaredSize(head: RequestHead, limits: Limits): Problem | null {
  const size = declaredSize(head);
  return size !== null && size > limits.max_request_body_bytes ? requestTooLarge(head, limits) : null;
}

/** Only JSON as it is: RFC 8259 defines no parameter, UTF-8 is the only charset, and no content coding is accepted. */
export function judgeMediaType({ contentType, contentEncoding }: RequestHead): Problem | null {
  if (contentEncoding !== null && contentEncoding.trim().toLowerCase() !== "identity") {
    return problem("invalid_request", "Send the body without Content-Encoding.", {});
  }
  const [mediaType = "", ...parameters] = (contentType ?? "").split(";").map((part) => part.trim().toLowerCase());
  const charsets = parameters.filter((parameter) => parameter.startsWith("charset="));
  if (mediaType === "application/json" && charsets.every((charset) => UTF8_CHARSET.test(charset))) return null;
  return problem("invalid_request", "Send the body as application/json in UTF-8.", {});
}

/** Gathers the pieces of a body up to the limit. */
export class BodyCollector {
  readonly #head: RequestHead;
  readonly #limits: Limits;
  #bytes: Uint8Array<ArrayBuffer>;
  #size = 0;

  /** The declared size must have been judged before: as much memory is allocated at once. */
  constructor(head: RequestHead, limits: Limits) {
    this.#head = head;
    this.#limits = limits;
    this.#bytes = new Uint8Array(declaredSize(head) ?? Math.min(FIRST_CHUNK_BYTES, limits.max_request_body_bytes));
  }

  /** Bytes of memory that are taken for the body. */
  get capacity(): number {
    return this.#bytes.length;
  }

  /** Takes the next piece; answers a problem, and keeps nothing of the piece, when the body is over the limit. */
  add(piece: Uint8Array): Problem | null {
    const size = this.#size + piece.length;
    if (size > this.#limits.max_request_body_bytes) return requestTooLarge(this.#head, this.#limits);
    if (size > this.#bytes.length) {
      const grown = new Uint8Array(
        Math.min(Math.max(size, 2 * this.#bytes.length), this.#limits.max_request_body_bytes),
      );
      grown.set(this.#bytes.subarray(0, this.#size));
      this.#bytes = grown;
    }
    this.#bytes.set(piece, this.#size);
    this.#size = size;
    return null;
  }

  /** The body as received. */
  finish(): Uint8Array<ArrayBuffer> {
    return this.#bytes.subarray(0, this.#size);
  }
}

function requestTooLarge(head: RequestHead, limits: Limits): Problem {
  const limit = limits.max_request_body_bytes;
  const declared = declaredSize(head);
  return problem("request_too_large", `The request body is over the limit of ${limit} bytes.`, {
    limit,
    ...(declared !== null && { declared_size: declared }),
  });
}
