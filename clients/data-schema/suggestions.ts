/** The names and values that a schema allows at a place in the data, for completion in editors. */
import { expand, itemsOf, type Members, membersOf, stringsOf } from "./schema-value.ts";

export interface SuggestedMember {
  readonly name: string;
  readonly description: string | null;
  readonly isRequired: boolean;
}

export function suggestMembers(schema: unknown, path: readonly (string | number)[]): SuggestedMember[] {
  const found = new Map<string, SuggestedMember>();
  const schemas = schemasAt(schema, path);
  const required = new Set(schemas.flatMap((members) => stringsOf(members.required)));
  for (const { properties } of schemas) {
    for (const [name, member] of Object.entries(membersOf(properties))) {
      const { description } = membersOf(member);
      if (found.has(name)) continue;
      found.set(name, {
        name,
        description: typeof description === "string" ? description : null,
        isRequired: required.has(name),
      });
    }
  }
  return [...found.values()];
}

/** The values that a schema names for a place, as JSON: those that it allows, the default, and examples. */
export function suggestValues(schema: unknown, path: readonly (string | number)[]): string[] {
  const values = schemasAt(schema, path).flatMap((members) => {
    const { enum: allowed, const: only, type, default: usual, examples } = members;
    const texts = [...itemsOf(allowed), only, usual, ...itemsOf(examples)]
      .filter((value) => value !== undefined)
      .map((value) => JSON.stringify(value));
    const types = stringsOf(type);
    if (types.includes("boolean")) texts.push("true", "false");
    if (types.includes("null")) texts.push("null");
    return texts;
  });
  return [...new Set(values)];
}

function schemasAt(schema: unknown, path: readonly (string | number)[]): Members[] {
  let found = expand([schema], schema);
  for (const segment of path) {
    found = expand(
      found.flatMap((members) => listSchemasBelow(members, segment)),
      schema,
    );
  }
  return found;
}

function listSchemasBelow(
  { properties, additionalProperties, prefixItems, items }: Members,
  segment: string | number,
): unknown[] {
  if (typeof segment === "number") return [itemsOf(prefixItems)[segment] ?? items];
  return [Object.hasOwn(membersOf(properties), segment) ? membersOf(properties)[segment] : additionalProperties];
}
