/** Reads a schema as a value: its members, and what a reference within it leads to. */

export interface Members {
  readonly [name: string]: unknown;
}

/** The members of an object; none of anything else. */
export function membersOf(value: unknown): Members {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? { ...value } : {};
}

/** The items of an array; none of anything else. */
export function itemsOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

/** The texts of a text or of an array of texts. */
export function stringsOf(value: unknown): string[] {
  return [value].flat().filter((item) => typeof item === "string");
}

/** What a URI leads to whose fragment is a JSON Pointer; undefined if nothing. */
export function schemaAt(location: string, schema: unknown): unknown {
  const [, fragment = ""] = location.split("#");
  if (fragment !== "" && !fragment.startsWith("/")) return undefined;
  let found = schema;
  for (const segment of fragment.split("/").slice(1)) {
    const name = unescaped(segment);
    if (typeof found !== "object" || found === null || !Object.hasOwn(found, name)) return undefined;
    found = Object.entries(found).find(([member]) => member === name)?.[1];
  }
  return found;
}

/** A segment of a JSON Pointer in a URI as the name that it is. */
export function unescaped(segment: string): string {
  let decoded = segment;
  try {
    decoded = decodeURIComponent(segment);
  } catch {
    // As it is: a pointer that is no URI fragment.
  }
  return decoded.replaceAll("~1", "/").replaceAll("~0", "~");
}
