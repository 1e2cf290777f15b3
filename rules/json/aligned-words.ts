/**
 * A view of a body's memory as 32-bit words, for loops that look at four bytes at a time.
 *
 * A word's first byte is its lowest: every machine for which Typst, Node and workerd are built is little-endian.
 */

export interface AlignedWords {
  /** The whole words up to the end of the body. The first may begin with bytes that lie before the body. */
  readonly words: Int32Array;
  /** Offset in the body at which the first word begins: 0 to -3, as the body's place in its buffer has it. */
  readonly start: number;
}

/** All words of `body` that are aligned in its buffer. A short body may have none. */
export function alignedWords(body: Uint8Array): AlignedWords {
  const start = -(body.byteOffset & 3);
  return { words: new Int32Array(body.buffer, body.byteOffset + start, (body.length - start) >> 2), start };
}

/**
 * Bit 7 of each byte of a word that is a quote, a backslash or a control character: what ends a stretch of a JSON string.
 * Above the first such byte, bits of others may be set as well.
 */
export function specialBytes(word: number): number {
  // (x - 0x01010101) & ~x & 0x80808080 is not zero exactly when a byte of x is zero; with 0x20202020 instead, exactly
  // when a byte of x is below 0x20.
  const quote = word ^ 0x22222222;
  const backslash = word ^ 0x5c5c5c5c;
  const found =
    ((quote - 0x01010101) & ~quote) | ((backslash - 0x01010101) & ~backslash) | ((word - 0x20202020) & ~word);
  return found & 0x80808080;
}
