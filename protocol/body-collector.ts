/** Collects a body up to the size limit; and how long edge and backend read one, or discard a refused one. */
import { LIMIT_SETTINGS } from "../rules/limits.ts";
import { type Problem, problem, requestTooLarge } from "../rules/problem.ts";

/** The first allocation, unless the body declares less. The memory doubles as needed. */
const FIRST_CAPACITY_BYTES = 64 * 1024;

/** Memory is allocated as bytes arrive, not as declared: a body that is announced and never sent costs nothing. */
export class BodyCollector {
  readonly declaredSize: number | null;
  readonly #limit: number;
  #memory = new ArrayBuffer(0);
  #size = 0;

  /** @param declaredSize it has been validated */
  constructor(declaredSize: number | null, limit: number) {
    this.declaredSize = declaredSize;
    this.#limit = limit;
  }

  /** The allocated bytes after `add` of a chunk of this length; unchanged when `add` would reject it. */
  capacityWith(chunkLength: number): number {
    const capacity = this.#memory.byteLength;
    const limit = this.#limit;
    const size = this.#size + chunkLength;
    if (size <= capacity || size > limit) return capacity;
    const declared = this.declaredSize ?? limit;
    const most = size <= declared ? Math.min(declared, limit) : limit;
    return Math.min(most, Math.max(size, 2 * capacity, FIRST_CAPACITY_BYTES));
  }

  /** Adds a chunk. When the body is over the limit, it returns a problem and keeps nothing of the chunk. */
  add(chunk: Uint8Array): Problem | null {
    const size = this.#size + chunk.length;
    if (size > this.#limit) return requestTooLarge(this.declaredSize, this.#limit);
    const capacity = this.capacityWith(chunk.length);
    // `transfer` frees the old memory at once, without waiting for the garbage collector.
    if (capacity > this.#memory.byteLength) this.#memory = this.#memory.transfer(capacity);
    new Uint8Array(this.#memory, this.#size).set(chunk);
    this.#size = size;
    return null;
  }

  /** Whether it has as many bytes as were declared: HTTP ends a body there. */
  get isComplete(): boolean {
    return this.#size === this.declaredSize;
  }

  /** The body as received: a view of the collector's memory. */
  finish(): Uint8Array<ArrayBuffer> {
    return new Uint8Array(this.#memory, 0, this.#size);
  }

  free(): void {
    this.#memory = this.#memory.transfer(0);
    this.#size = 0;
  }
}

/** A client that sends nothing for this long is considered gone. */
export const BODY_SILENCE_MILLISECONDS = 10_000;

/** `Retry-After` if there is no room for a body. */
export const NO_MEMORY_RETRY_SECONDS = 2;

/**
 * How much of a refused body is discarded before its connection is closed: otherwise the connection is reset, and a
 * client that writes its whole body before it reads never sees the answer.
 */
export const MAX_DISCARDED_BYTES = LIMIT_SETTINGS.max_request_body_bytes.max;
export const MAX_DISCARD_MILLISECONDS = 5000;
/** A client that sends nothing for this long is waiting for the answer. */
const DISCARD_SILENCE_MILLISECONDS = 500;

export interface BodyClock {
  /** In milliseconds since some moment. */
  now(): number;
  /** Calls back after a time. @returns a function that cancels the call. */
  after(milliseconds: number, callback: () => void): () => void;
}

/** A piece of a body; "late" and "broken" are final, as the end is. */
export type BodyPiece = Uint8Array | "end" | "late" | "broken";

export interface BodyReader {
  /** Whether a piece has been asked for. */
  readonly isBegun: boolean;
  /** Whether there is nothing more to read. */
  readonly isOver: boolean;
  /** The next piece, which is valid until the next call. */
  next(timeBudgetMilliseconds: number, clock: BodyClock): Promise<BodyPiece>;
}

/** Reads the rest of a refused body, within these limits: many clients write all of it before they read an answer. */
export async function discard(body: BodyReader, clock: BodyClock): Promise<void> {
  const deadline = clock.now() + MAX_DISCARD_MILLISECONDS;
  for (let bytes = 0; bytes <= MAX_DISCARDED_BYTES; ) {
    const piece = await body.next(Math.min(DISCARD_SILENCE_MILLISECONDS, deadline - clock.now()), clock);
    if (typeof piece === "string") return;
    bytes += piece.length;
  }
}

export function bodyTooSlow(): Problem {
  return problem("invalid_request", "The body did not arrive in time.", {});
}
