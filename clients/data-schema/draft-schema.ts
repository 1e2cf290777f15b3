/** Drafts a schema from data: what all of it has in common. People then add what only they know, such as limits. */
import { DIALECT } from "./schema-file.ts";
import { isObject } from "./schema-value.ts";

interface Draft {
  type?: string | readonly string[];
  format?: string;
  properties?: { readonly [name: string]: Draft };
  required?: readonly string[];
  additionalProperties?: false;
  items?: Draft;
}

/** Formats that are claimed if all strings of a member have them, the narrowest first. */
const FORMATS: readonly (readonly [format: string, isOfIt: (text: string) => boolean])[] = [
  ["date", isDay],
  ["date-time", (text) => isDay(text.slice(0, 10)) && TIME.test(text.slice(10))],
];
const TIME = /^T(?:[01]\d|2[0-3])(?::[0-5]\d){2}(?:\.\d+)?(?:Z|[+-](?:[01]\d|2[0-3]):[0-5]\d)$/;

/**
 * A schema that all values fit. Members present in all of them are required, and members that occur in none are not
 * allowed, so that misspelt names are found.
 */
export function draftSchema(values: readonly unknown[]): object {
  return { $schema: DIALECT, ...draftOf(values) };
}

function draftOf(values: readonly unknown[]): Draft {
  const types = new Set(values.map(typeOf));
  // "number" includes whole numbers.
  if (types.has("number")) types.delete("integer");
  const [only] = types;
  if (only === undefined) return {};
  const draft: Draft = { type: types.size === 1 ? only : [...types].sort() };
  const strings = values.filter((value) => typeof value === "string");
  const format = FORMATS.find(([, isOfIt]) => strings.length > 0 && strings.every(isOfIt));
  if (format !== undefined) [draft.format] = format;
  const objects = values.filter(isObject);
  if (objects.length > 0) addMembers(draft, objects);
  const items = values.filter((value) => Array.isArray(value)).flat();
  if (items.length > 0) draft.items = draftOf(items);
  return draft;
}

function addMembers(draft: Draft, objects: readonly object[]): void {
  const entries: [string, unknown][] = objects.flatMap((object) => Object.entries(object));
  const members = [...Map.groupBy(entries, ([name]) => name)];
  draft.properties = Object.fromEntries(members.map(([name, all]) => [name, draftOf(all.map(([, value]) => value))]));
  const required = members.filter(([, all]) => all.length === objects.length).map(([name]) => name);
  if (required.length > 0) draft.required = required;
  draft.additionalProperties = false;
}

/** Whether a day exists: February 30 does not. */
function isDay(text: string): boolean {
  const time = /^\d{4}-\d\d-\d\d$/.test(text) ? Date.parse(text) : Number.NaN;
  return !Number.isNaN(time) && new Date(time).toISOString().startsWith(text);
}

function typeOf(value: unknown): string {
  if (value === null) return "null";
  if (Array.isArray(value)) return "array";
  return Number.isInteger(value) ? "integer" : typeof value;
}
