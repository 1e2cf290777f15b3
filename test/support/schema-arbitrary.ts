/**
 * Values made from a JSON Schema, for the keywords that the interface description uses: what a client might send that knows
 * only the description. Unknown keywords are errors, so that none is ignored.
 */
import fc, { type Arbitrary } from "fast-check";
import * as v from "valibot";

const schemaOf = v.strictObject({
  $ref: v.optional(v.string()),
  anyOf: v.optional(v.array(v.unknown())),
  const: v.optional(v.string()),
  enum: v.optional(v.array(v.string())),
  type: v.optional(v.picklist(["string", "integer", "array", "object", "null"])),
  pattern: v.optional(v.string()),
  minLength: v.optional(v.number()),
  maxLength: v.optional(v.number()),
  minimum: v.optional(v.number()),
  maximum: v.optional(v.number()),
  items: v.optional(v.unknown()),
  maxItems: v.optional(v.number()),
  properties: v.optional(v.record(v.string(), v.unknown())),
  required: v.optional(v.array(v.string()), []),
  propertyNames: v.optional(v.unknown()),
  additionalProperties: v.optional(v.unknown()),
  maxProperties: v.optional(v.number()),
  // These do not affect validity.
  description: v.optional(v.string()),
  default: v.optional(v.unknown()),
  examples: v.optional(v.array(v.unknown())),
});

type Schema = v.InferOutput<typeof schemaOf>;

const LOOKAHEAD = /\(\?[=!](?:[^()]|\([^()]*\))*\)/g;
/** Far below every limit on numbers of things: the load is in the variety. */
const MAX_SIZE = 4;

/**
 * Values of a schema.
 *
 * @param resolve what a `$ref` names
 */
export function valuesOf(value: unknown, resolve: (reference: string) => unknown): Arbitrary<unknown> {
  const schema = v.parse(schemaOf, value);
  const of = (inner: unknown) => valuesOf(inner, resolve);
  if (schema.$ref !== undefined) return of(resolve(schema.$ref));
  if (schema.anyOf !== undefined) return fc.oneof(...schema.anyOf.map(of));
  if (schema.const !== undefined) return fc.constant(schema.const);
  if (schema.enum !== undefined) return fc.constantFrom(...schema.enum);
  switch (schema.type) {
    case undefined:
      return fc.jsonValue();
    case "null":
      return fc.constant(null);
    case "integer":
      return fc.integer({ min: schema.minimum ?? 0, max: schema.maximum ?? 2 ** 31 - 1 });
    case "string":
      return strings(schema);
    case "array":
      return fc.array(of(schema.items), { maxLength: Math.min(schema.maxItems ?? MAX_SIZE, MAX_SIZE) });
    case "object":
      return objects(schema, of);
  }
}

function strings({ pattern, minLength = 0, maxLength = 200 }: Schema): Arbitrary<string> {
  if (pattern === undefined) return fc.string({ unit: "grapheme", minLength, maxLength });
  const whole = new RegExp(pattern);
  return fc.stringMatching(new RegExp(pattern.replaceAll(LOOKAHEAD, ""))).filter((text) => whole.test(text));
}

function objects(schema: Schema, of: (inner: unknown) => Arbitrary<unknown>): Arbitrary<object> {
  if (schema.properties === undefined) {
    return fc.dictionary(strings(v.parse(schemaOf, schema.propertyNames)), of(schema.additionalProperties), {
      maxKeys: MAX_SIZE,
    });
  }
  const members: Record<string, Arbitrary<unknown>> = {};
  for (const [name, inner] of Object.entries(schema.properties)) members[name] = of(inner);
  return fc.record(members, { requiredKeys: schema.required });
}

/** The value with, usually, one error: a member missing, an extra member, or a member of another type. */
export function damaged(value: unknown): Arbitrary<unknown> {
  const places = objectsIn(value, 0);
  if (places === 0) return fc.constant(null);
  return fc
    .record({
      place: fc.nat(places - 1),
      member: fc.nat(),
      damage: fc.constantFrom("remove", "add", "retype"),
      other: fc.jsonValue(),
    })
    .map(({ place, member, damage, other }) => {
      const copy: unknown = structuredClone(value);
      const target = objectAt(copy, place);
      const names = Object.keys(target);
      const name = names[member % Math.max(1, names.length)] ?? "missing";
      if (damage === "remove") delete target[name];
      else target[damage === "add" ? `${name}_` : name] = other;
      return copy;
    });
}

function objectsIn(value: unknown, before: number): number {
  if (!isObject(value)) return before;
  return Object.values(value).reduce<number>((count, member) => objectsIn(member, count), before + 1);
}

/** The object of that number in the order in which `objectsIn` counts. */
function objectAt(value: unknown, place: number): Record<string, unknown> {
  const found: Record<string, unknown>[] = [];
  const collect = (inner: unknown) => {
    if (!isObject(inner)) return;
    found.push(inner);
    for (const member of Object.values(inner)) collect(member);
  };
  collect(value);
  return found[place] ?? {};
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
