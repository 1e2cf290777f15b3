/** Reads a schema as a plain value: its members, the targets of its references, and the schemas that it combines. */

export interface Members {
  readonly [name: string]: unknown;
}

export function isObject(value: unknown): value is object {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

export function membersOf(value: unknown): Members {
  return isObject(value) ? { ...value } : {};
}

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
  return fragment
    .split("/")
    .slice(1)
    .reduce((found, segment) => new Map(Object.entries(found ?? {})).get(unescapeSegment(segment)), schema);
}

/** References and combinations are followed to this depth, because a schema may refer to itself. */
const MAX_DEPTH = 16;
/** More schemas would not improve the suggestions. */
const MAX_SCHEMAS = 200;

export function expand(schemas: readonly unknown[], root: unknown): Members[] {
  const found: Members[] = [];
  const open = schemas.map((schema) => ({ schema, depth: 0 }));
  for (let next = open.shift(); next !== undefined && found.length < MAX_SCHEMAS; next = open.shift()) {
    const { schema, depth } = next;
    const members = membersOf(schema);
    found.push(members);
    if (depth === MAX_DEPTH) continue;
    const { $ref, allOf, anyOf, oneOf, then, else: otherwise } = members;
    const inner = [allOf, anyOf, oneOf].flatMap(itemsOf).concat(then, otherwise);
    if (typeof $ref === "string") inner.push(schemaAt($ref, root));
    open.push(...inner.filter((one) => one !== undefined).map((one) => ({ schema: one, depth: depth + 1 })));
  }
  return found;
}

export function unescapeSegment(segment: string): string {
  let decoded = segment;
  try {
    decoded = decodeURIComponent(segment);
  } catch {
    // Unchanged: the pointer is not a valid URI fragment.
  }
  return decoded.replaceAll("~1", "/").replaceAll("~0", "~");
}
