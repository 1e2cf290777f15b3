/**
 * Finds mistakes that the meta-schema does not: references that lead out of the schema, and keywords that would change
 * how the validator treats other schemas.
 */
import * as Instance from "@hyperjump/json-schema/instance/experimental";
import { DIALECT } from "./schema-file.ts";
import { unescapeSegment } from "./schema-value.ts";
import type { Mistake } from "./sentences.ts";

type JsonNode = Instance.JsonNode;

/** The base URI of a schema without `$id`. */
const BASE = "https://data.invalid/";
/** Their values are data, which may look like a schema. */
const DATA_KEYWORDS = /^(?:const|default|enum|examples)$/;
/** The members of their values are named by the author: there, `const` is no keyword. */
const MAPS = /^(?:properties|patternProperties|dependentSchemas|\$defs|definitions)$/;

interface Subschema {
  readonly node: JsonNode;
  /** The URI to which its references are relative. */
  readonly base: string;
}

/** All schemas within a schema, itself included, and the objects around them. Without recursion. */
function* schemasOf(root: JsonNode): Generator<Subschema> {
  const open: Subschema[] = [{ node: root, base: BASE }];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const { node } = next;
    const id = textOf(node, "$id");
    const base = id === null ? next.base : resolveUri(id, next.base);
    if (node.type === "object") yield { node, base };
    const isData = DATA_KEYWORDS.test(nameOf(node)) && !MAPS.test(nameOf(node.parent?.parent));
    if (!isData) open.push(...node.children.map((child) => ({ node: child, base })));
  }
}

export function mistakesInSchema(root: JsonNode): Mistake[] {
  const mistakes: Mistake[] = [];
  const schemas = [...schemasOf(root)];
  const documents = new Set([DIALECT, ...schemas.map(({ base }) => base)]);
  const anchors = new Set(
    schemas.flatMap(({ node }) => ["$anchor", "$dynamicAnchor"].map((name) => textOf(node, name))),
  );
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
  readonly anchors: ReadonlySet<string | null>;
}

function mistakeOf(keyword: string, value: JsonNode, around: Surroundings): string | null {
  if (keyword === "$vocabulary") return "is not supported: it is only for defining versions of JSON Schema";
  if (value.type !== "string") return null;
  const text = Instance.value<string>(value);
  if (keyword === "$ref" || keyword === "$dynamicRef") return referenceMistake(text, around);
  if (keyword !== "$schema" || text.replace(/#$/, "") === DIALECT) return null;
  return `must be "${DIALECT}": other versions of JSON Schema are not supported`;
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

/** A URI without its fragment. */
function resolveUri(reference: string, base: string): string {
  const [document = ""] = reference.split("#");
  if (document === "") return base;
  return URL.canParse(document, base) ? new URL(document, base).href : document;
}

function textOf(node: JsonNode, wanted: string): string | null {
  if (node.type !== "object") return null;
  const value = Instance.step(wanted, node);
  return value?.type === "string" ? Instance.value<string>(value) : null;
}

function nameOf(node: JsonNode | undefined): string {
  const [name] = node?.type === "property" ? node.children : [];
  return name === undefined ? "" : Instance.value<string>(name);
}

function nodeAt(root: JsonNode, pointer: string): JsonNode | null {
  let found: JsonNode | undefined = root;
  for (const segment of pointer.split("/").slice(1)) {
    if (found === undefined) return null;
    found = Instance.step(unescapeSegment(segment), found);
  }
  return found ?? null;
}
