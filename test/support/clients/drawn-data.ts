/**
 * Draws data that a JSON Schema takes, from the keywords that the examples use. It throws at any other keyword, so that
 * a schema is never taken for wider or narrower than it is.
 */
import { Ajv2020 } from "ajv/dist/2020.js";
import fc, { type Arbitrary } from "fast-check";

export interface Schema {
  readonly [keyword: string]: unknown;
}

/** What decides where the schema leaves something open. */
export interface Choices {
  number(minimum: number, maximum: number, isInteger: boolean): Arbitrary<number>;
  array<T>(item: Arbitrary<T>, minimum: number, maximum: number): Arbitrary<T[]>;
  pick<T>(items: readonly Arbitrary<T>[]): Arbitrary<T>;
  /** Without a pattern, any text. */
  text(pattern: string | undefined): Arbitrary<string>;
  /** Whether what is optional is there. */
  optional<T>(member: Arbitrary<T>): Arbitrary<T | undefined>;
}

const KEYWORDS: ReadonlySet<string> = new Set([
  ...[
    "$schema",
    "$defs",
    "$ref",
    "description",
    "type",
    "properties",
    "required",
    "additionalProperties",
    "anyOf",
    "allOf",
  ],
  ...["enum", "items", "minItems", "maxItems", "minimum", "maximum", "minLength", "pattern", "format"],
]);
/** Where a schema has no bound. */
const MOST_ITEMS = 40;
const MOST_NUMBER = 1_000_000;

export function dataOf(schema: Schema, choices: Choices, root = schema): Arbitrary<unknown> {
  const unknown = Object.keys(schema).find((keyword) => !KEYWORDS.has(keyword));
  if (unknown !== undefined) throw new Error(`the keyword ${unknown} cannot be drawn yet`);
  const draw = (inner: unknown) => dataOf(inner as Schema, choices, root);
  if (typeof schema.$ref === "string") return draw(resolve(schema, root));
  const { anyOf, ...common } = schema;
  if (Array.isArray(anyOf)) return choices.pick(anyOf.map((form) => draw(both(common, form, root))));
  if (Array.isArray(schema.allOf)) return dataOfConditions(schema, choices, root);
  if (Array.isArray(schema.enum)) return choices.pick(schema.enum.map((value) => fc.constant(value)));
  const bound = (keyword: string, otherwise: number) => (schema[keyword] as number | undefined) ?? otherwise;
  switch (schema.type) {
    case "null":
      return fc.constant(null);
    case "boolean":
      return choices.pick([fc.constant(true), fc.constant(false)]);
    case "integer":
    case "number": {
      const isInteger = schema.type === "integer";
      return choices.number(bound("minimum", -MOST_NUMBER), bound("maximum", MOST_NUMBER), isInteger);
    }
    case "string":
      return textOf(schema, choices);
    case "array": {
      const least = bound("minItems", 0);
      return choices.array(draw(schema.items), least, bound("maxItems", Math.max(least, MOST_ITEMS)));
    }
    case "object":
      return objectOf(schema, choices, draw);
    default:
      throw new Error(`the type ${schema.type} cannot be drawn yet`);
  }
}

interface Condition {
  readonly if: Schema;
  readonly then: Schema;
}

/** Every element of `allOf` is a condition. What breaks one of them is drawn again as if each one applied. */
function dataOfConditions({ allOf, ...schema }: Schema, choices: Choices, root: Schema): Arbitrary<unknown> {
  const conditions = allOf as readonly Condition[];
  const ajv = new Ajv2020({ strict: false, validateFormats: false });
  const isTaken = ajv.compile({ $defs: root.$defs, allOf });
  const narrowed = conditions.reduce<Schema>((narrower, condition) => both(narrower, condition.then, root), schema);
  const narrow = dataOf(narrowed, choices, root);
  return dataOf(schema, choices, root).chain((data) => (isTaken(data) ? fc.constant(data) : narrow));
}

/** A schema for what two take: of two lists of required members all, of other keywords those of the second. */
function both(first: Schema, second: Schema, root: Schema): Schema {
  const [resolved, narrower] = [first, second].map((schema) => resolve(schema, root));
  const merged: Record<string, unknown> = { ...resolved };
  if (narrower?.pattern !== undefined) delete merged.minLength;
  for (const [keyword, value] of Object.entries(narrower ?? {})) {
    const own = merged[keyword];
    if (keyword === "required") merged[keyword] = [...new Set([own ?? [], value].flat())];
    else merged[keyword] = isSchema(own) && isSchema(value) ? both(own, value, root) : value;
  }
  return merged;
}

function isSchema(value: unknown): value is Schema {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function resolve(schema: Schema, root: Schema): Schema {
  if (typeof schema.$ref !== "string") return schema;
  return (root.$defs as Readonly<Record<string, Schema>>)[schema.$ref.replace("#/$defs/", "")] ?? {};
}

const DAY_MILLISECONDS = 86_400_000;

function textOf({ format, pattern, minLength }: Schema, choices: Choices): Arbitrary<string> {
  if (format === "email") return fc.emailAddress();
  if (format === "uri") return fc.webUrl();
  if (format === "date") {
    // The examples take these years.
    const [first, last] = [Date.UTC(1900, 0, 1), Date.UTC(2099, 11, 31)].map((time) => time / DAY_MILLISECONDS);
    const day = choices.number(first ?? 0, last ?? 0, true);
    return day.map((number) => new Date(number * DAY_MILLISECONDS).toISOString().slice(0, 10));
  }
  if (typeof pattern === "string" && minLength === undefined) return choices.text(pattern);
  if (typeof pattern === "string") return choices.text(undefined).filter((text) => new RegExp(pattern, "u").test(text));
  if (minLength !== 1) throw new Error("only texts of at least one character can be drawn yet");
  return choices.text(undefined);
}

function objectOf(schema: Schema, choices: Choices, draw: (inner: unknown) => Arbitrary<unknown>): Arbitrary<unknown> {
  const { properties, required, additionalProperties } = schema;
  const isRequired = (name: string) => Array.isArray(required) && required.includes(name);
  const members = Object.entries((properties ?? {}) as Schema).map(([name, inner]) => {
    const member = fc.tuple(fc.constant(name), draw(inner));
    return isRequired(name) ? member : choices.optional(member);
  });
  const others =
    typeof additionalProperties === "object"
      ? choices.array(fc.tuple(choices.text(undefined), draw(additionalProperties)), 0, 12)
      : fc.constant([]);
  return fc
    .tuple(fc.tuple(...members), others)
    .map(([own, more]) => Object.fromEntries([...own.filter((member) => member !== undefined), ...more]));
}

/** The least of everything: no items, zero, one character without width, what is optional is absent, null where it may be. */
export const LEAST: Choices = {
  number: (minimum) => fc.constant(minimum),
  array: (item, minimum) => fc.array(item, { minLength: minimum, maxLength: minimum }),
  pick: (items) => items.at(-1) ?? fc.constantFrom(),
  text: (pattern) => textsLike(pattern, fc.constant("\u200b")),
  optional: () => fc.constant(undefined),
};

/** The most of everything, with long texts that cannot be broken, and of which no two are equal. */
export const MOST: Choices = {
  number: (_, maximum) => fc.constant(maximum),
  array: (item, _, maximum) => fc.array(item, { minLength: maximum, maxLength: maximum }),
  pick: (items) => items[0] ?? fc.constantFrom(),
  text: (pattern) =>
    textsLike(
      pattern,
      fc.noBias(fc.nat()).map((number) => "ЩЖ".repeat(250) + number),
    ),
  optional: (member) => member,
};

/** Anything, with the edges more often than chance has them. @param character of which texts are made */
export function anyOf(character: Arbitrary<string>): Choices {
  const texts = (maxLength: number) => fc.string({ unit: character, minLength: 1, maxLength, size: "max" });
  const text = fc.oneof(
    { weight: 6, arbitrary: texts(40) },
    { weight: 1, arbitrary: texts(2000) },
    {
      weight: 2,
      arbitrary: fc.array(texts(12), { minLength: 1, maxLength: 300, size: "max" }).map((it) => it.join(" ")),
    },
  );
  return {
    number: (min, max, isInteger) => {
      const integer = fc.integer({ min: Math.ceil(min), max: Math.floor(max) });
      const edge = fc.constantFrom(min, max, Math.min(Math.max(0, min), max));
      return fc.oneof(edge, integer, ...(isInteger ? [] : [fc.double({ min, max, noNaN: true })]));
    },
    array: (item, minLength, maxLength) => fc.array(item, { minLength, maxLength, size: "max" }),
    pick: (items) => fc.oneof(...items),
    text: (pattern) => textsLike(pattern, text),
    optional: (member) => fc.option(member, { nil: undefined }),
  };
}

function textsLike(pattern: string | undefined, anyText: Arbitrary<string>): Arbitrary<string> {
  return pattern === undefined ? anyText : fc.stringMatching(new RegExp(pattern));
}
