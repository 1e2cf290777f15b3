/** The bytes of a body, four at a time, and whether they are UTF-8. */

/** The memory of a body as 32-bit words, little-endian, as on every platform of Typst, Node and workerd. */
export interface AlignedWords {
  /** The whole words up to the end of the body. The first may begin with bytes before the body. */
  readonly words: Int32Array;
  /** The offset of the first word from the start of the body: 0 to -3, because words are aligned to the buffer. */
  readonly start: number;
}

export function alignedWords(body: Uint8Array): AlignedWords {
  const start = -(body.byteOffset & 3);
  return { words: new Int32Array(body.buffer, body.byteOffset + start, (body.length - start) >> 2), start };
}

/** Whether a byte of a word is a quote, a backslash or a control character, which end a plain run in a JSON string. */
export function hasSpecialByte(word: number): boolean {
  // (x - 0x01010101) & ~x & 0x80808080 is not zero exactly when a byte of x is zero; with 0x20202020 instead, exactly
  // when a byte of x is below 0x20.
  const quote = word ^ 0x22222222;
  const backslash = word ^ 0x5c5c5c5c;
  const found =
    ((quote - 0x01010101) & ~quote) | ((backslash - 0x01010101) & ~backslash) | ((word - 0x20202020) & ~word);
  return (found & 0x80808080) !== 0;
}

/** Decoded at once: the text of a whole body would take twice its memory. */
const CHUNK_BYTES = 64 * 1024;

export function isUtf8(body: Uint8Array): boolean {
  const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
  try {
    for (let start = 0; start < body.length; ) {
      const end = characterStart(body, start + CHUNK_BYTES);
      decoder.decode(body.subarray(start, end));
      start = end;
    }
    return true;
  } catch {
    return false;
  }
}

/** The offset, or up to three less if it is in the middle of a character. */
function characterStart(body: Uint8Array, offset: number): number {
  let start = offset;
  while (start > offset - 3 && ((body[start] ?? 0) & 0xc0) === 0x80) start--;
  return start;
}
