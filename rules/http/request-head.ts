/**
 * What is validated of a render request before its JSON: the declared length, the bytes read, the media type.
 *
 * The body itself is read by each platform; `BodyCollector` is the part that both share: it takes memory as bytes arrive,
 * and never more than the limit.
 */
import { parse as parseContentType } from "content-type";
import type { Limits } from "../limits.ts";
import { type Problem, problem } from "../problem.ts";

/** The headers that matter, as received; null where absent. */
export interface RequestHead {
  readonly contentLength: string | null;
  readonly contentType: string | null;
  readonly contentEncoding: string | null;
}

/** What a body is first given memory for, unless it declares less; the memory doubles as needed. */
const FIRST_CAPACITY_BYTES = 64 * 1024;

/**
 * Of duplicate parameters a parser keeps the first, and RFC 6838 (section 4.3) calls them an error. Clients do send
 * `charset` twice, so the field is cut before each one and every charset is looked at.
 */
const BEFORE_CHARSET = /(?=;[ \t]*charset[ \t]*=)/i;
const UTF8 = /^utf-?8$/i;

/** The `Content-Length` that the caller sent, or null. HTTP servers have refused malformed ones already. */
export function declaredSize({ contentLength }: RequestHead): number | null {
  return contentLength !== null && /^[0-9]+$/.test(contentLength) ? Number(contentLength) : null;
}

/** Refuses a body by the length that it declares, before a byte of it is read. */
export function validateDeclaredSize(head: RequestHead, limits: Limits): Problem | null {
  const size = declaredSize(head);
  return size !== null && size > limits.max_request_body_bytes ? requestTooLarge(head, limits) : null;
}

/** Only JSON as it is: RFC 8259 defines no parameter, UTF-8 is the only charset, and no content coding is accepted. */
export function validateMediaType({ contentType, contentEncoding }: RequestHead): Problem | null {
  if (contentEncoding !== null && contentEncoding.trim().toLowerCase() !== "identity") {
    return problem("invalid_request", "Send the body without Content-Encoding.", {});
  }
  const [mediaType, ...charsets] = (contentType ?? "").split(BEFORE_CHARSET).map((part) => parseContentType(part));
  const isUtf8 = charsets.every(({ parameters }) => UTF8.test(parameters.charset ?? ""));
  if (mediaType?.type === "application/json" && isUtf8) return null;
  return problem("invalid_request", "Send the body as application/json in UTF-8.", {});
}

/**
 * Gathers the pieces of a body up to the limit. A declared length bounds the memory and never takes it in advance, so
 * that a body that is announced and does not come costs nothing.
 */
export class BodyCollector {
  readonly #head: RequestHead;
  readonly #limits: Limits;
  #memory = new ArrayBuffer(0);
  #size = 0;

  /** The declared size must have been validated before. */
  constructor(head: RequestHead, limits: Limits) {
    this.#head = head;
    this.#limits = limits;
  }

  /** The bytes of memory that are taken once `add` has a piece of this length; as many as now where it is refused. */
  capacityWith(pieceLength: number): number {
    const capacity = this.#memory.byteLength;
    const limit = this.#limits.max_request_body_bytes;
    const size = this.#size + pieceLength;
    if (size <= capacity || size > limit) return capacity;
    const declared = declaredSize(this.#head) ?? limit;
    const most = size <= declared ? Math.min(declared, limit) : limit;
    return Math.min(most, Math.max(size, 2 * capacity, FIRST_CAPACITY_BYTES));
  }

  /** Takes the next piece; answers a problem, and keeps nothing of the piece, when the body is over the limit. */
  add(piece: Uint8Array): Problem | null {
    const size = this.#size + piece.length;
    if (size > this.#limits.max_request_body_bytes) return requestTooLarge(this.#head, this.#limits);
    const capacity = this.capacityWith(piece.length);
    // The old memory is free at once and need not wait for the garbage collector.
    if (capacity > this.#memory.byteLength) this.#memory = this.#memory.transfer(capacity);
    new Uint8Array(this.#memory, this.#size).set(piece);
    this.#size = size;
    return null;
  }

  /** The body as received: a view of the collector's memory. */
  finish(): Uint8Array<ArrayBuffer> {
    return new Uint8Array(this.#memory, 0, this.#size);
  }

  /** Frees the memory at once. What `finish` gave is empty from then on. */
  free(): void {
    this.#memory = this.#memory.transfer(0);
    this.#size = 0;
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
