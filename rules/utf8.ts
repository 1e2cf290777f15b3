/**
 * UTF-8 validation of a whole body, by the platform's own decoder in pieces: it is native code, and no decoded copy of
 * the body ever exists.
 */

/** Small enough that the decoded pieces stay in the young generation, large enough that the calls cost nothing. */
const PIECE_BYTES = 64 * 1024;

/**
 * Whether `body` is UTF-8 without a byte order mark. Overlong forms, encoded surrogates and values past U+10FFFF are
 * not UTF-8 (RFC 3629), and JSON text must not begin with a byte order mark (RFC 8259 section 8.1).
 */
export function isUtf8WithoutBom(body: Uint8Array): boolean {
  if (body[0] === 0xef && body[1] === 0xbb && body[2] === 0xbf) return false;
  const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
  try {
    for (let start = 0; start < body.length; start += PIECE_BYTES) {
      decoder.decode(body.subarray(start, start + PIECE_BYTES), { stream: true });
    }
    decoder.decode();
    return true;
  } catch {
    // The decoder says "not UTF-8" by a TypeError and by nothing else.
    return false;
  }
}
