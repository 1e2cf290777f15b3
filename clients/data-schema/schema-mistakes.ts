/**
 * Finds mistakes that the meta-schema does not: references that lead out of the schema, and keywords that would change
 * how the validator treats other schemas.
 */
import * as Instance from "@hyperjump/json-schema/instance/experimental";
import { nodesOf } from "./json-nodes.ts";
import { DIALECT } from "./schema-file.ts";
import { unescapeSegment } from "./schema-value.ts";
import type { Mistake } from "./sentences.ts";

type JsonNode = Instance.JsonNode;

/** The base URI of a schema without `$id`. */
const BASE = "https://data.invalid/";

/** Keywords with one subschema, several, and one for each name. */
const SUBSCHEMA = new Set([
  "additionalProperties",
  "contains",
  "contentSchema",
  "else",
  "if",
  "items",
  "not",
  "propertyNames",
  "then",
  "unevaluatedItems",
  "unevaluatedProperties",
]);
const LISTS = new Set(["allOf", "anyOf", "oneOf", "prefixItems"]);
const MAPS = new Set(["$defs", "definitions", "dependentSchemas", "patternProperties", "properties"]);

interface Subschema {
  readonly node: JsonNode;
  /** The URI to which its references are relative. */
  readonly base: string;
}

/** All schemas within a schema, itself included, without recursion. */
function* schemasOf(root: JsonNode): Generator<Subschema> {
  const open: Subschema[] = [{ node: root, base: BASE }];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const { node } = next;
    if (node.type !== "object") continue;
    const id = memberOf(node, "$id");
    const base = id?.type === "string" ? resolveUri(Instance.value<string>(id), next.base) : next.base;
    yield { node, base };
    for (const [name, value] of Instance.entries(node)) {
      const keyword = Instance.value<string>(name);
      const inner = MAPS.has(keyword)
        ? [...Instance.values(value)]
        : LISTS.has(keyword)
          ? [...Instance.iter(value)]
          : [];
      if (SUBSCHEMA.has(keyword)) inner.push(value);
      open.push(...inner.map((child) => ({ node: child, base })));
    }
  }
}

export function mistakesInSchema(root: JsonNode): Mistake[] {
  const mistakes: Mistake[] = [];
  const schemas = [...schemasOf(root)];
  const documents = new Set([DIALECT, ...schemas.map(({ base }) => base)]);
  const anchors = new Set([...nodesOf(root)].flatMap(anchorsOf));
  for (const { node, base } of schemas) {
    for (const [name, value] of Instance.entries(node)) {
      const message = mistakeOf(Instance.value<string>(name), value, { root, base, documents, anchors });
      if (message !== null) mistakes.push({ node: value, message });
    }
  }
  return mistakes;
}

interface Surroundings {
  readonly root: JsonNode;
  readonly base: string;
  /** The URIs of all schema documents that can be referred to. */
  readonly documents: ReadonlySet<string>;
  readonly anchors: ReadonlySet<string>;
}

function mistakeOf(keyword: string, value: JsonNode, around: Surroundings): string | null {
  switch (keyword) {
    case "$schema": {
      const dialect = Instance.value<unknown>(value);
      if (value.type !== "string" || String(dialect).replace(/#$/, "") === DIALECT) return null;
      return `must be "${DIALECT}": other versions of JSON Schema are not supported`;
    }
    case "$vocabulary":
      return "is not supported: it is only for defining versions of JSON Schema";
    case "$ref":
    case "$dynamicRef":
      return value.type === "string" ? referenceMistake(Instance.value<string>(value), around) : null;
    default:
      return null;
  }
}

function referenceMistake(reference: string, { root, base, documents, anchors }: Surroundings): string | null {
  const shown = JSON.stringify(reference);
  if (!documents.has(resolveUri(reference, base))) {
    return `leads to ${shown}, which is another document. Nothing is fetched: copy what it needs to "$defs"`;
  }
  const [, anchor] = /^#([a-z_][\w.-]*)$/i.exec(reference) ?? [];
  const isMissing =
    (reference.startsWith("#/") && nodeAt(root, reference.slice(1)) === null) ||
    (anchor !== undefined && !anchors.has(anchor));
  return isMissing && base === BASE ? `leads to ${shown}, which does not exist in the schema` : null;
}

/** The names by which references can reach a schema. */
function anchorsOf(node: JsonNode): string[] {
  if (node.type !== "object") return [];
  return ["$anchor", "$dynamicAnchor"].flatMap((keyword) => {
    const anchor = memberOf(node, keyword);
    return anchor?.type === "string" ? [Instance.value<string>(anchor)] : [];
  });
}

/** A URI without its fragment. */
function resolveUri(reference: string, base: string): string {
  const [document = ""] = reference.split("#");
  try {
    return document === "" ? base : new URL(document, base).href;
  } catch {
    return document;
  }
}

function memberOf(node: JsonNode, wanted: string): JsonNode | null {
  for (const [name, value] of Instance.entries(node)) if (Instance.value(name) === wanted) return value;
  return null;
}

function nodeAt(root: JsonNode, pointer: string): JsonNode | null {
  let found: JsonNode | undefined = root;
  for (const segment of pointer.split("/").slice(1)) {
    if (found === undefined) return null;
    found = Instance.step(unescapeSegment(segment), found);
  }
  return found ?? null;
}
