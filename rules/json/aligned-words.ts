/**
 * A view of a body's memory as 32-bit words, for loops that look at four bytes at a time.
 */

export interface AlignedWords {
  readonly words: Int32Array;
  /** Offset in the body at which the first word begins: 0 to 3, as the body's place in its buffer has it. */
  readonly start: number;
}

/** All whole words of `body` that are aligned in its buffer. A short body may have none. */
export function alignedWords(body: Uint8Array): AlignedWords {
  const start = (4 - (body.byteOffset & 3)) & 3;
  const count = (body.length - start) >> 2;
  if (count <= 0) return { words: NO_WORDS, start: 0 };
  return { words: new Int32Array(body.buffer, body.byteOffset + start, count), start };
}

const NO_WORDS = new Int32Array(0);
