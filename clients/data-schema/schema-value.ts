/** Reads a schema as a plain value: its members, and the targets of its references. */

export interface Members {
  readonly [name: string]: unknown;
}

/** The members of an object; empty for anything else. */
export function membersOf(value: unknown): Members {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? { ...value } : {};
}

/** The items of an array; empty for anything else. */
export function itemsOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

/** A string, or the strings in an array, as an array. */
export function stringsOf(value: unknown): string[] {
  return [value].flat().filter((item) => typeof item === "string");
}

/** The value to which a URI leads by its fragment, a JSON Pointer; undefined if there is none. */
export function schemaAt(location: string, schema: unknown): unknown {
  const [, fragment = ""] = location.split("#");
  if (fragment !== "" && !fragment.startsWith("/")) return undefined;
  let found = schema;
  for (const segment of fragment.split("/").slice(1)) {
    const name = unescapeSegment(segment);
    if (typeof found !== "object" || found === null || !Object.hasOwn(found, name)) return undefined;
    found = Object.entries(found).find(([member]) => member === name)?.[1];
  }
  return found;
}

/** The name that a segment of a JSON Pointer in a URI stands for. */
export function unescapeSegment(segment: string): string {
  let decoded = segment;
  try {
    decoded = decodeURIComponent(segment);
  } catch {
    // Unchanged: the pointer is not a valid URI fragment.
  }
  return decoded.replaceAll("~1", "/").replaceAll("~0", "~");
}
