/**
 * Finds misspelt keywords. JSON Schema ignores what it does not know, so that a schema with `propertes` allows
 * everything. Other members are the author's own.
 */
import * as Instance from "@hyperjump/json-schema/instance/experimental";
import type { Mistake } from "./sentences.ts";
import { similarName } from "./similar-name.ts";

type JsonNode = Instance.JsonNode;

/** What a keyword's value holds: schemas in one way or another, or only itself, of some types. */
type Value = "schema" | "schemas by name" | "list of schemas" | readonly string[];

/** The keywords without which something else is allowed, by what their values hold. A misspelt `title` harms nobody. */
const KEYWORDS_BY_VALUE: readonly (readonly [value: Value, keywords: string])[] = [
  [
    "schema",
    "additionalProperties unevaluatedProperties propertyNames items unevaluatedItems contains not if then else",
  ],
  ["schemas by name", "$defs definitions properties patternProperties dependentSchemas"],
  ["list of schemas", "prefixItems allOf anyOf oneOf"],
  [["string"], "$ref $dynamicRef $anchor $dynamicAnchor pattern format"],
  [["number"], "minLength maxLength minimum maximum exclusiveMinimum exclusiveMaximum multipleOf"],
  [["number"], "minItems maxItems minContains maxContains minProperties maxProperties"],
  [["array"], "enum required"],
  [["string", "array"], "type"],
  [["boolean"], "uniqueItems"],
  [["object"], "dependentRequired"],
  [["string", "number", "boolean", "null", "array", "object"], "const"],
];
const KEYWORDS: ReadonlyMap<string, Value> = new Map(
  KEYWORDS_BY_VALUE.flatMap(([value, keywords]) => keywords.split(" ").map((keyword) => [keyword, value] as const)),
);

/** Annotations, also of OpenAPI and older versions, that are like a keyword and none. */
const HARMLESS = new Set(
  "$comment $id $schema $vocabulary title description default examples example deprecated readOnly writeOnly".split(
    " ",
  ),
);

export function misspeltKeywords(root: JsonNode): Mistake[] {
  const mistakes: Mistake[] = [];
  const open: JsonNode[] = [root];
  for (let schema = open.pop(); schema !== undefined; schema = open.pop()) {
    if (schema.type !== "object") continue;
    const present = new Set(Object.keys(Instance.value<object>(schema)));
    for (const property of schema.children) {
      const [name, value] = property.children;
      if (name === undefined || value === undefined) continue;
      const keyword = Instance.value<string>(name);
      if (keyword === "nullable" && value.type === "boolean") {
        mistakes.push({ node: name, message: describeNullable(schema) });
        continue;
      }
      const meant = KEYWORDS.has(keyword) ? keyword : meantKeyword(keyword, value, present);
      if (meant === null) continue;
      if (meant !== keyword) {
        const message = `is not a keyword of JSON Schema. Did you mean ${JSON.stringify(meant)}?`;
        mistakes.push({ node: name, message });
      }
      open.push(...schemasIn(KEYWORDS.get(meant), value));
    }
  }
  return mistakes;
}

/** The keyword that is missing and may have a value of this type. */
function meantKeyword(name: string, value: JsonNode, present: ReadonlySet<string>): string | null {
  if (HARMLESS.has(name) || /^x-/i.test(name)) return null;
  const candidates = [...KEYWORDS].flatMap(([each, kind]) => (!present.has(each) && takes(kind, value) ? each : []));
  return candidates.find((each) => each === `$${name}`) ?? similarName(name, candidates);
}

function takes(kind: Value, { type }: JsonNode): boolean {
  switch (kind) {
    case "schema":
      return type === "object" || type === "boolean";
    case "schemas by name":
      return type === "object";
    case "list of schemas":
      return type === "array";
    default:
      return kind.includes(type);
  }
}

function schemasIn(kind: Value | undefined, value: JsonNode): readonly JsonNode[] {
  if (kind === "schema") return [value];
  if (kind === "list of schemas" && value.type === "array") return value.children;
  if (kind !== "schemas by name" || value.type !== "object") return [];
  return value.children.flatMap(({ children: [, schema] }) => schema ?? []);
}

function describeNullable(schema: JsonNode): string {
  const type = Instance.step("type", schema);
  const types = type === undefined ? ["string"] : [Instance.value<string | string[]>(type)].flat();
  const written = JSON.stringify([...new Set([...types, "null"])]).replaceAll(",", ", ");
  return `is a keyword of OpenAPI 3.0, not of JSON Schema: write "type": ${written}`;
}
