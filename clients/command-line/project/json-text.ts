/** Reads JSON text of the caller without changing it, so that numbers keep their digits. */
import { JsonCursor } from "../../../rules/json/cursor.ts";
import { jsonErrorOffset } from "../../data-schema/json-error.ts";

/** Where a text stops being JSON; null if it is JSON. */
export function jsonMistake(text: string): Place | null {
  const offset = jsonErrorOffset(text);
  return offset === null ? null : placeAfter({ line: 1, column: 1 }, text.slice(0, offset));
}

/** A place in a text. Line and column are counted from one, the column in UTF-16 code units. */
interface Place {
  readonly line: number;
  readonly column: number;
}

export interface ArrayItem extends Place {
  readonly text: string;
}

/** The items of an array; or the place where the text stops being an array. */
export function arrayItems(text: string, maxItems: number): { readonly items: readonly ArrayItem[] } | Place {
  const body = Buffer.from(text);
  const cursor = new JsonCursor(body);
  const items: ArrayItem[] = [];
  let at = 0;
  let place: Place = { line: 1, column: 1 };
  cursor.skipWhitespace();
  for (let hasItem = cursor.enterArray(); hasItem && items.length <= maxItems; hasItem = cursor.nextItem()) {
    const start = cursor.position;
    cursor.skipValue(null);
    place = placeAfter(place, body.subarray(at, start).toString("utf8"));
    at = start;
    items.push({ ...place, text: body.subarray(start, cursor.position).toString("utf8") });
  }
  if (items.length <= maxItems) cursor.expectEnd();
  if (!cursor.isMalformed) return { items };
  return placeAfter({ line: 1, column: 1 }, body.subarray(0, cursor.malformedAt).toString("utf8"));
}

/** The texts of the members of an object, the last of each name; null for anything else. */
export function memberTexts(text: string): ReadonlyMap<string, string> | null {
  const body = Buffer.from(text);
  const cursor = new JsonCursor(body);
  cursor.skipWhitespace();
  if (cursor.peekKind() !== "object") return null;
  const members = new Map<string, string>();
  for (let hasMember = cursor.enterObject(); hasMember; hasMember = cursor.nextMember()) {
    const { stringStart, stringEnd, stringHasEscapes } = cursor;
    const name = body.toString("utf8", stringStart, stringEnd);
    members.set(stringHasEscapes ? String(JSON.parse(`"${name}"`)) : name, readValue(cursor));
  }
  return members;
}

/** The texts of the items of an array, by their numbers from zero; null for anything else. */
export function itemTexts(text: string): ReadonlyMap<string, string> | null {
  const read = arrayItems(text, Number.POSITIVE_INFINITY);
  return "items" in read ? new Map(read.items.map((item, index) => [String(index), item.text])) : null;
}

function readValue(cursor: JsonCursor): string {
  const start = cursor.position;
  cursor.skipValue(null);
  return Buffer.from(cursor.body.subarray(start, cursor.position)).toString("utf8");
}

function placeAfter({ line, column }: Place, text: string): Place {
  const lines = text.split("\n");
  const length = lines.at(-1)?.length ?? 0;
  return { line: line + lines.length - 1, column: lines.length === 1 ? column + length : length + 1 };
}
