/** Whether a body is UTF-8. */

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
