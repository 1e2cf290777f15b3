/**
 * Removes fonts from a collection (OpenType, section "Font Collections"). The header lists where each font begins, so
 * the list is cut; the data stays, because the fonts share it.
 */

const COLLECTION_TAG = "ttcf";
const COUNT_AT = 8;
const OFFSETS_AT = 12;
const OFFSET_BYTES = 4;

/**
 * The collection with only its first fonts. A file that is not a collection, or has no more fonts, is returned as it
 * is.
 */
export function withFirstFonts(font: Buffer, count: number): Buffer {
  const isCollection = font.length >= OFFSETS_AT && font.toString("latin1", 0, 4) === COLLECTION_TAG;
  if (!isCollection || font.readUInt32BE(COUNT_AT) <= count) return font;
  const shorter = Buffer.from(font);
  const oldCount = font.readUInt32BE(COUNT_AT);
  shorter.writeUInt32BE(count, COUNT_AT);
  // The list ends with what follows the last offset: nothing, or the place of a signature, which is no longer right.
  shorter.fill(0, OFFSETS_AT + OFFSET_BYTES * count, OFFSETS_AT + OFFSET_BYTES * oldCount);
  return shorter;
}
