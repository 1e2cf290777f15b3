/**
 * UTF-8 validation in place (RFC 3629): no overlong forms, no encoded surrogates, nothing past U+10FFFF.
 *
 * The platform's decoder would validate faster where most characters are not ASCII, but it makes a string of everything
 * it reads: on a 20 MiB body that garbage alone takes 11 MiB (measured in Node 26). Here nothing is made at all.
 */
import { alignedWords } from "./aligned-words.ts";

const HIGH_BITS = 0x80808080;
const LONGEST_SEQUENCE_BYTES = 4;

/** Whether `body` is UTF-8. */
export function isUtf8(body: Uint8Array): boolean {
  const { words, start: wordsStart } = alignedWords(body);
  const wordCount = words.length;
  // Up to here any sequence that begins is there in full, so the loop needs no bounds for it.
  const end = body.length - LONGEST_SEQUENCE_BYTES;
  let at = 0;
  while (at <= end) {
    const lead = body[at] ?? 0;
    if (lead < 0x80) {
      at++;
      if (((at - wordsStart) & 3) !== 0) continue;
      // ASCII, four bytes at a time.
      let index = (at - wordsStart) >> 2;
      while (index < wordCount && ((words[index] ?? 0) & HIGH_BITS) === 0) index++;
      at = wordsStart + (index << 2);
      continue;
    }
    const length = sequenceLength(lead, body[at + 1] ?? 0, body[at + 2] ?? 0, body[at + 3] ?? 0);
    if (length === 0) return false;
    at += length;
  }
  while (at < body.length) {
    const length = sequenceLength(body[at] ?? 0, body[at + 1] ?? 0, body[at + 2] ?? 0, body[at + 3] ?? 0);
    if (length === 0) return false;
    at += length;
  }
  return true;
}

/**
 * How long the sequence is that begins with these four bytes, or 0 where they begin none (RFC 3629 section 4). A byte
 * past the end is given as 0, which continues no sequence.
 */
function sequenceLength(lead: number, second: number, third: number, fourth: number): 0 | 1 | 2 | 3 | 4 {
  if (lead < 0x80) return 1;
  if (lead < 0xc2 || (second & 0xc0) !== 0x80) return 0;
  if (lead < 0xe0) return 2;
  if ((third & 0xc0) !== 0x80) return 0;
  if (lead < 0xf0) {
    if ((lead === 0xe0 && second < 0xa0) || (lead === 0xed && second > 0x9f)) return 0;
    return 3;
  }
  if (lead > 0xf4 || (fourth & 0xc0) !== 0x80) return 0;
  if ((lead === 0xf0 && second < 0x90) || (lead === 0xf4 && second > 0x8f)) return 0;
  return 4;
}
