/**
 * Leaves fonts out of a collection (OpenType, section "Font Collections"): its header lists where each begins, and the list is
 * made shorter. The data, which they share, stays.
 */

const COLLECTION_TAG = "ttcf";
const COUNT_AT = 8;
const OFFSETS_AT = 12;
const OFFSET_BYTES = 4;

/** The collection with its first fonts alone. What is no collection, or has no more of them, stays as it is. */
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
