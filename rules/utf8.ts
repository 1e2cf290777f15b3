/**
 * UTF-8 validation of a whole body, by the platform's own decoder in pieces: it is native code, and no decoded copy of
 * the body ever exists.
 */

/** Small enough that the decoded pieces stay in the young generation, large enough that the calls cost nothing. */
const PIECE_BYTES = 64 * 1024;

/**
 * Whether `body` is UTF-8. Overlong forms, encoded surrogates and values past U+10FFFF are not (RFC 3629). A byte order
 * mark is none of its matter: the JSON grammar refuses one.
 */
export function isUtf8(body: Uint8Array): boolean {
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
