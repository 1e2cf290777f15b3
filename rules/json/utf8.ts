/**
 * UTF-8 validation four bytes at a time (RFC 3629). No branch depends on the characters in a word: in prose such
 * branches are mispredicted for every other word. One function, because a call per word takes as long as the work
 * itself.
 */

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

/** Bit 7 of each byte. A mask of these bits represents a set of bytes. */
const HIGH_BITS = 0x80808080;
const LETTERS = 0x61616161;

/**
 * Skips text up to the next quote, backslash or control character, or to the end of the body.
 * @param from the offset of the first byte of a character.
 * @returns the offset of that byte; `~offset`, which is negative, if the text before it is not UTF-8.
 */
export function passUtf8(body: Uint8Array, { words, start }: AlignedWords, from: number): number {
  const wordCount = words.length;
  let index = (from - start) >> 2;
  let word = index < wordCount ? (words[index] ?? 0) : lastWord(body, start + 4 * index);
  // Bytes before `from` count as ASCII letters.
  const before = lowBytes((from - start) & 3);
  word = (word & ~before) | (LETTERS & before);
  let lastByte = 0;
  // The bytes of `word` that must continue a sequence from an earlier word.
  let due = 0;
  let wrongLengths = 0;
  let forbiddenPairs = 0;
  for (;;) {
    const special = specialBytes(word);
    const length = special === 0 ? 4 : firstByteOf(special);
    if (special !== 0) word &= lowBytes(length);

    const high = word & HIGH_BITS;
    const leads = high & (word << 1);
    const leadsOfThree = leads & (word << 2);
    const leadsOfFour = leadsOfThree & (word << 3);
    const continuations = high ^ leads;
    wrongLengths |= (due | (leads << 8) | (leadsOfThree << 16) | (leadsOfFour << 24)) ^ continuations;
    due = (leads >>> 24) | (leadsOfThree >>> 16) | (leadsOfFour >>> 8);

    forbiddenPairs |=
      (IS_FORBIDDEN_PAIR[lastByte | ((word & 0xff) << 8)] ?? 0) |
      (IS_FORBIDDEN_PAIR[word & 0xffff] ?? 0) |
      (IS_FORBIDDEN_PAIR[(word >>> 8) & 0xffff] ?? 0) |
      (IS_FORBIDDEN_PAIR[word >>> 16] ?? 0);
    lastByte = word >>> 24;

    if (special !== 0) {
      const end = start + 4 * index + length;
      return (wrongLengths | forbiddenPairs) === 0 ? end : ~end;
    }
    index++;
    word = index < wordCount ? (words[index] ?? 0) : lastWord(body, start + 4 * index);
  }
}

/** The last bytes of the body, fewer than four from `start` on, padded with zeros. */
function lastWord(body: Uint8Array, start: number): number {
  return (body[start] ?? 0) | ((body[start + 1] ?? 0) << 8) | ((body[start + 2] ?? 0) << 16);
}

/** The bits of a word's first `count` bytes, of which there are 0 to 3. */
function lowBytes(count: number): number {
  return (1 << (8 * count)) - 1;
}

/** The index in its word, 0 to 3, of the first byte whose bit 7 is set. */
function firstByteOf(bits: number): number {
  return (32 - Math.clz32((bits - 1) & ~bits)) >> 3;
}

/** 1 for a lead byte (low) and a continuation (high) that may not follow it, by RFC 3629 section 4. */
const IS_FORBIDDEN_PAIR = new Uint8Array(65_536);

function forbid(lead: number, firstContinuation: number, lastContinuation: number): void {
  for (let byte = firstContinuation; byte <= lastContinuation; byte++) IS_FORBIDDEN_PAIR[(byte << 8) | lead] = 1;
}

// Overlong forms, surrogates, values above U+10FFFF, and bytes that cannot begin a sequence.
for (const lead of [0xc0, 0xc1]) forbid(lead, 0x80, 0xbf);
forbid(0xe0, 0x80, 0x9f);
forbid(0xed, 0xa0, 0xbf);
forbid(0xf0, 0x80, 0x8f);
forbid(0xf4, 0x90, 0xbf);
for (let lead = 0xf5; lead <= 0xff; lead++) forbid(lead, 0x80, 0xbf);
