/**
 * A view of a body's memory as 32-bit words, for loops that read four bytes at a time.
 *
 * The first byte of a word is its lowest: every platform of Typst, Node and workerd is little-endian.
 */

export interface AlignedWords {
  /** The whole words up to the end of the body. The first may begin with bytes before the body. */
  readonly words: Int32Array;
  /** The offset of the first word from the start of the body: 0 to -3, because words are aligned to the buffer. */
  readonly start: number;
}

/** All words of `body` that are aligned in its buffer. A short body may have none. */
export function alignedWords(body: Uint8Array): AlignedWords {
  const start = -(body.byteOffset & 3);
  return { words: new Int32Array(body.buffer, body.byteOffset + start, (body.length - start) >> 2), start };
}

/**
 * Sets bit 7 of each byte that is a quote, a backslash or a control character, which end a plain run in a JSON string.
 * Bytes above the first such byte may be marked wrongly.
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
