/**
 * JSON text that the caller wrote: it stays as it is, so that numbers keep their digits, and a mistake has its line and column.
 */
import { JsonCursor } from "../../rules/json/cursor.ts";

/** Where a text stops being JSON, counted from one; null if it is JSON. The service's own reader: messages of JSON.parse often have no position. */
export function jsonMistake(text: string): { readonly line: number; readonly column: number } | null {
  const body = Buffer.from(text);
  const cursor = new JsonCursor(body);
  cursor.skipWhitespace();
  cursor.skipValue(null);
  cursor.expectEnd();
  return mistakeOf(cursor, body);
}

/** The texts of the items of an array; or where the text stops being one. */
export function arrayItems(
  text: string,
  maxItems: number,
): { readonly items: readonly string[] } | { readonly line: number; readonly column: number } {
  const body = Buffer.from(text);
  const cursor = new JsonCursor(body);
  const items: string[] = [];
  cursor.skipWhitespace();
  for (let hasItem = cursor.enterArray(); hasItem && items.length <= maxItems; hasItem = cursor.nextItem()) {
    const start = cursor.position;
    cursor.skipValue(null);
    items.push(body.subarray(start, cursor.position).toString("utf8"));
  }
  if (items.length <= maxItems) cursor.expectEnd();
  return mistakeOf(cursor, body) ?? { items };
}

function mistakeOf(cursor: JsonCursor, body: Buffer) {
  if (!cursor.isMalformed) return null;
  const before = body.subarray(0, cursor.malformedAt).toString("utf8").split("\n");
  return { line: before.length, column: (before.at(-1)?.length ?? 0) + 1 };
}
