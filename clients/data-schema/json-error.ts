/** Where a text stops being JSON, by the service's own reader: `JSON.parse` often reports no position. */
import { JsonCursor } from "../../rules/json/cursor.ts";

/** In UTF-16 code units; null if the text is one JSON value. */
export function jsonErrorOffset(text: string): number | null {
  const bytes = new TextEncoder().encode(text);
  const cursor = new JsonCursor(bytes);
  cursor.skipWhitespace();
  cursor.skipValue(null);
  cursor.expectEnd();
  return cursor.isMalformed ? new TextDecoder().decode(bytes.subarray(0, cursor.malformedAt)).length : null;
}
