/**
 * Says in plain words what the validator found. If a schema offers several forms (`anyOf`, `oneOf`), only the mistakes
 * of the form that was probably meant are reported.
 */
import * as Instance from "@hyperjump/json-schema/instance/experimental";
import type { Branch, Failure } from "./failures.ts";
import { identityOf, textOf } from "./json-nodes.ts";
import { itemsOf, type Members, membersOf, schemaAt, stringsOf } from "./schema-value.ts";
import { similarName } from "./similar-name.ts";

type JsonNode = Instance.JsonNode;

export interface Mistake {
  /** The value, or the name of a member. */
  readonly node: JsonNode;
  readonly message: string;
  /** The name that is missing. */
  readonly missing?: string;
  /** The known name that an unknown one may stand for. */
  readonly meant?: string | null;
}

export interface Subject {
  readonly text: string;
  readonly schema: unknown;
}

/** Keywords that only pass on the failures of their subschemas. */
const APPLICATORS = new Set([
  "additionalProperties",
  "allOf",
  "dependentSchemas",
  "dynamicRef",
  "else",
  "items",
  "patternProperties",
  "prefixItems",
  "properties",
  "propertyNames",
  "ref",
  "then",
  "unevaluatedItems",
  "unevaluatedProperties",
]);
const UNEVALUATED = /^unevaluated/;
const MAX_SHOWN_VALUES = 8;
const MAX_SHOWN_LENGTH = 60;

const FORMATS: { readonly [format: string]: string } = {
  date: "a date such as 2026-03-31",
  time: "a time with its offset, such as 14:30:00Z",
  "date-time": "a date and time with its offset, such as 2026-03-31T14:30:00Z",
  duration: "a duration such as P3D or PT2H30M",
  email: "an email address",
  "idn-email": "an email address",
  hostname: "a host name such as example.com",
  "idn-hostname": "a host name such as example.com",
  ipv4: "an IPv4 address",
  ipv6: "an IPv6 address",
  uri: "a URL with its scheme, such as https://example.com/",
  "uri-reference": "a URL or a part of one, in ASCII",
  iri: "a URL with its scheme, such as https://example.com/",
  "iri-reference": "a URL or a part of one",
  uuid: "a UUID such as 123e4567-e89b-42d3-a456-426614174000",
  "uri-template": "a URI template such as /orders/{id}",
  "json-pointer": "a JSON Pointer such as /items/0",
  "relative-json-pointer": "a relative JSON Pointer such as 1/items",
  regex: "a regular expression",
};

/** The mistakes behind the failures, in the order of the text, each once. */
export function mistakesOf(failures: readonly Failure[], subject: Subject): Mistake[] {
  const all = explainAll(failures, subject);
  // A misspelt name is one mistake, not an unknown member and a missing one.
  const misspelt = new Set(all.map(({ node, meant }) => `${node.parent?.parent?.offset} ${meant}`));
  const known = new Set<string>();
  return all
    .filter(({ node, message, missing }) => {
      if (missing !== undefined && misspelt.has(`${node.offset} ${missing}`)) return false;
      const identity = `${node.offset} ${message}`;
      return !known.has(identity) && known.add(identity);
    })
    .sort((left, right) => (left.node.offset ?? 0) - (right.node.offset ?? 0));
}

function explainAll(failures: readonly Failure[], subject: Subject): Mistake[] {
  const hasReason = failures.some(({ keyword }) => !UNEVALUATED.test(keyword));
  return failures.flatMap((failure) => {
    const mistakes = explain(failure, subject);
    if (!hasReason || !UNEVALUATED.test(failure.keyword)) return mistakes;
    // A subschema that fails evaluates nothing, so the members and items that it describes are wrongly reported as too
    // many.
    if (failure.keyword === "unevaluatedItems") return [];
    const known = new Set(knownNames(parentSchema(failure, subject), subject));
    return mistakes.filter(({ node }) => node.type !== "string" || !known.has(Instance.value<string>(node)));
  });
}

function explain(failure: Failure, subject: Subject): Mistake[] {
  const { keyword, instance, branches } = failure;
  if (keyword === "anyOf" || keyword === "oneOf") return explainChoice(failure, subject);
  if (keyword === "propertyNames") return branches.flatMap((branch) => explainName(branch, subject));
  if (APPLICATORS.has(keyword)) return branches.flatMap((branch) => explainBranch(failure, branch, subject));
  if (keyword === "required") return missingMembers(failure, subject);
  if (keyword === "dependentRequired") return dependentMembers(failure);
  if (keyword === "uniqueItems") return repeatedItems(instance);
  return [{ node: instance, message: sentence(failure, subject) }];
}

function explainBranch(failure: Failure, branch: Branch, subject: Subject): Mistake[] {
  if (branch.failures.length > 0) return explainAll(branch.failures, subject);
  // The schema is `false`.
  const { instance } = branch;
  const isMember = instance.parent?.type === "property";
  if (failure.keyword === "items" || failure.keyword === "unevaluatedItems") {
    const allowed = instance.parent?.children.indexOf(instance) ?? 0;
    return [{ node: instance, message: `is one too many: at most ${countInWords(allowed, "item")} may be here` }];
  }
  const name = isMember ? instance.parent?.children[0] : undefined;
  if (name === undefined) return [{ node: instance, message: "must not be here" }];
  if (!/^(?:additional|unevaluated)Properties$/.test(failure.keyword)) {
    return [{ node: name, message: "must not be here" }];
  }
  const present = new Set(Object.keys(Instance.value<object>(instance.parent?.parent ?? instance)));
  const free = knownNames(parentSchema(failure, subject), subject).filter((known) => !present.has(known));
  const meant = similarName(Instance.value<string>(name), free);
  const hint = meant === null ? "" : `. Did you mean ${quote(meant)}?`;
  return [{ node: name, meant, message: `is not a known member${hint}` }];
}

function explainName({ instance, failures }: Branch, subject: Subject): Mistake[] {
  const reasons = explainAll(failures, subject).map(({ message }) => message);
  return [
    { node: instance, message: `has a name that is not allowed: the name ${reasons.join("; ") || "must not be here"}` },
  ];
}

function missingMembers(failure: Failure, subject: Subject): Mistake[] {
  const { instance, value } = failure;
  const present = Object.keys(Instance.value<object>(instance));
  const known = new Set(knownNames(parentSchema(failure, subject), subject));
  return stringsOf(value)
    .filter((name) => !present.includes(name))
    .map((name) => {
      const meant = similarName(
        name,
        present.filter((other) => !known.has(other)),
      );
      const hint = meant === null ? "" : `. Is ${quote(meant)} a misspelling of it?`;
      return { node: instance, missing: name, message: `${quote(name)} is missing${hint}` };
    });
}

function dependentMembers({ instance, value }: Failure): Mistake[] {
  const present = new Set(Object.keys(Instance.value<object>(instance)));
  return itemsOf(value).flatMap((dependency) => {
    const [name, required] = itemsOf(dependency);
    if (typeof name !== "string" || !present.has(name)) return [];
    return stringsOf(required)
      .filter((other) => !present.has(other))
      .map((missing) => ({
        node: instance,
        missing,
        message: `${quote(missing)} is missing: it is required because ${quote(name)} is present`,
      }));
  });
}

function repeatedItems({ children }: JsonNode): Mistake[] {
  const first = new Map<string, number>();
  return children.flatMap((item, index) => {
    const identity = identityOf(item);
    const earlier = first.get(identity);
    if (earlier === undefined) first.set(identity, index);
    return earlier === undefined
      ? []
      : [{ node: item, message: `is the same as item ${earlier}: all items must differ` }];
  });
}

/** The mistakes by the form that was probably meant. */
function explainChoice({ keyword, instance, branches, value }: Failure, subject: Subject): Mistake[] {
  const count = Array.isArray(value) ? value.length : branches.length;
  if (keyword === "oneOf" && branches.length < count) {
    const fitting = count - branches.length;
    return [{ node: instance, message: `fits ${fitting} of ${count} forms, but must fit exactly one` }];
  }
  const forms = branches.map((branch) => ({ branch, leaves: leavesOf(branch) }));
  const isOfOtherType = ({ leaves }: (typeof forms)[number]) =>
    leaves.some((leaf) => leaf.keyword === "type" && leaf.instance === instance);
  const ofType = forms.filter((form) => !isOfOtherType(form));
  if (ofType.length === 0) {
    const types = forms.flatMap(({ leaves }) =>
      leaves.flatMap((leaf) => (leaf.keyword === "type" && leaf.instance === instance ? stringsOf(leaf.value) : [])),
    );
    return [{ node: instance, message: wrongType([...new Set(types)], instance, subject) }];
  }
  // Members that tell which form is meant, such as `"kind": "card"`.
  const tells = (leaf: Failure) =>
    (leaf.keyword === "const" || leaf.keyword === "enum") && leaf.instance.parent?.parent === instance;
  const told = ofType.filter(({ leaves }) => !leaves.some(tells));
  const meant = told.length > 0 ? told : ofType;
  const [only] = meant;
  if (meant.length === 1 && only !== undefined) return explainAll(only.leaves, subject);
  const values = meant.map(({ leaves }) => leaves.filter(({ keyword: name }) => name === "const" || name === "enum"));
  const places = new Set(values.flat().map((leaf) => leaf.instance));
  const [place] = places;
  if (places.size === 1 && place !== undefined && values.every((found) => found.length > 0)) {
    const allowed = values.flat().flatMap((leaf) => [leaf.value].flat().map(String));
    return [{ node: place, message: wrongValue([...new Set(allowed)], place, subject) }];
  }
  const sentences = meant.map(({ leaves }) => explainAll(leaves, subject));
  if (sentences.every((found) => found.length === 1 && found[0]?.node === instance)) {
    const said = [...new Set(sentences.flat().map(({ message }) => message))];
    return [{ node: instance, message: said.join("; or ") }];
  }
  const closest = sentences.reduce((best, next) => (next.length < best.length ? next : best));
  return closest.map((mistake) => ({ ...mistake, message: `${mistake.message} (in the closest of ${count} forms)` }));
}

/** The failures below a branch, without the keywords that only pass failures on. */
function leavesOf({ failures }: Branch): Failure[] {
  return failures.flatMap((failure) => {
    const { keyword, branches } = failure;
    const passesOn = APPLICATORS.has(keyword) && keyword !== "propertyNames";
    return passesOn && branches.every(({ failures: inner }) => inner.length > 0)
      ? branches.flatMap(leavesOf)
      : [failure];
  });
}

function sentence(failure: Failure, subject: Subject): string {
  const { keyword, value, instance } = failure;
  const shown = shownValue(instance, subject);
  const { length } = instance.children;
  switch (keyword) {
    case "type":
      return wrongType(stringsOf(value), instance, subject);
    case "enum":
      return wrongValue(stringsOf(value), instance, subject);
    case "const":
      return wrongValue([String(value)], instance, subject);
    case "minimum":
      return `must be at least ${value}, not ${shown}`;
    case "maximum":
      return `must be at most ${value}, not ${shown}`;
    case "exclusiveMinimum":
      return `must be more than ${value}, not ${shown}`;
    case "exclusiveMaximum":
      return `must be less than ${value}, not ${shown}`;
    case "multipleOf":
      return `must be a multiple of ${value}, not ${shown}`;
    case "minLength": {
      const characters = [...Instance.value<string>(instance)].length;
      if (characters === 0) return "must not be empty";
      return `must have at least ${countInWords(Number(value), "character")}, not ${characters}`;
    }
    case "maxLength":
      return `must have at most ${countInWords(Number(value), "character")}, not ${[...Instance.value<string>(instance)].length}`;
    case "pattern": {
      const { description } = membersOf(parentSchema(failure, subject));
      const meaning = typeof description === "string" ? ` (${shorten(description)})` : "";
      const pattern = value instanceof RegExp ? value.source : String(value);
      return `must match the pattern ${shorten(pattern)}${meaning}, not ${shown}`;
    }
    case "format":
    case "format-assertion":
      return `must be ${FORMATS[String(value)] ?? `of the format ${value}`}, not ${shown}`;
    case "minItems":
      return `must have at least ${countInWords(Number(value), "item")}, not ${length}`;
    case "maxItems":
      return `must have at most ${countInWords(Number(value), "item")}, not ${length}`;
    case "minProperties":
      return `must have at least ${countInWords(Number(value), "member")}, not ${length}`;
    case "maxProperties":
      return `must have at most ${countInWords(Number(value), "member")}, not ${length}`;
    case "contains":
      return containsSentence(membersOf(value));
    case "not":
      return notSentence(schemaAt(failure.location, subject.schema), shown);
    default:
      return `does not fit ${quote(keyword)} in the schema`;
  }
}

function containsSentence({ minContains, maxContains }: Members): string {
  const most = typeof maxContains === "number" && maxContains < Number.MAX_SAFE_INTEGER ? maxContains : null;
  const least = `at least ${minContains}`;
  return `must have ${most === null ? least : `${least} and at most ${most}`} of the items that "contains" describes`;
}

function notSentence(schema: unknown, shown: string): string {
  const { const: value, enum: values, type, required } = membersOf(schema);
  if (value !== undefined || Array.isArray(values) || type !== undefined) return `must not be ${shown}`;
  if (Array.isArray(required)) return `must not have ${joinWords(required.map(quote), "and")}`;
  return 'is excluded by "not" in the schema';
}

function wrongType(types: readonly string[], instance: JsonNode, subject: Subject): string {
  const wanted = joinWords(types.map(typeInWords), "or");
  return `must be ${wanted}, not ${shownValue(instance, subject)}${typeHint(types, instance)}`;
}

function typeHint(types: readonly string[], instance: JsonNode): string {
  if (instance.type === "string") {
    const text = Instance.value<string>(instance);
    const isNumber =
      /^-?(?:0|[1-9]\d*)(?:\.\d+)?$/.test(text) && types.some((type) => /^(?:number|integer)$/.test(type));
    const isBoolean = /^(?:true|false)$/.test(text) && types.includes("boolean");
    return isNumber || isBoolean || (text === "null" && types.includes("null")) ? ": leave out the quotes" : "";
  }
  const isScalar = instance.type === "number" || instance.type === "boolean";
  return isScalar && types.includes("string") ? ": put it in quotes" : "";
}

/** @param values as JSON */
function wrongValue(values: readonly string[], instance: JsonNode, subject: Subject): string {
  const shown = values.slice(0, MAX_SHOWN_VALUES).map(shorten);
  const more = values.length - shown.length;
  const wanted = more > 0 ? `one of ${shown.join(", ")} and ${more} more` : joinWords(shown, "or");
  const texts = values.flatMap((value) => (value.startsWith('"') ? [String(JSON.parse(value))] : []));
  const meant = instance.type === "string" ? similarName(Instance.value<string>(instance), texts) : null;
  const hint = meant === null || values.length === 1 ? "" : `. Did you mean ${quote(meant)}?`;
  return `must be ${wanted}, not ${shownValue(instance, subject)}${hint}`;
}

function typeInWords(type: string): string {
  switch (type) {
    case "integer":
      return "a whole number";
    case "array":
    case "object":
      return `an ${type}`;
    case "null":
      return "null";
    case "boolean":
      return "true or false";
    default:
      return `a ${type}`;
  }
}

function shownValue(node: JsonNode, { text }: Subject): string {
  switch (node.type) {
    case "object":
      return "an object";
    case "array":
      return "an array";
    case "string":
      return `the string ${quote(Instance.value<string>(node))}`;
    case "number":
      return `the number ${shorten(textOf(node, text))}`;
    default:
      return textOf(node, text);
  }
}

/** The names of members that a schema lists, itself or in schemas that it refers to or combines. */
function knownNames(schema: unknown, subject: Subject, depth = 0): string[] {
  const { properties, required, allOf, anyOf, oneOf, $ref } = membersOf(schema);
  const names = [...Object.keys(membersOf(properties)), ...stringsOf(required)];
  if (depth < MAX_SHOWN_VALUES) {
    for (const list of [allOf, anyOf, oneOf]) {
      names.push(...itemsOf(list).flatMap((inner) => knownNames(inner, subject, depth + 1)));
    }
    if (typeof $ref === "string" && $ref.startsWith("#")) {
      names.push(...knownNames(schemaAt($ref, subject.schema), subject, depth + 1));
    }
  }
  return [...new Set(names)];
}

function parentSchema({ location }: Failure, subject: Subject): unknown {
  return schemaAt(location.slice(0, location.lastIndexOf("/")), subject.schema);
}

function countInWords(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? "" : "s"}`;
}

function joinWords(words: readonly string[], last: "and" | "or"): string {
  const head = words.slice(0, -1).join(", ");
  return head === "" ? words.join("") : `${head} ${last} ${words.at(-1)}`;
}

function quote(text: string): string {
  return shorten(JSON.stringify(text));
}

function shorten(text: string): string {
  return text.length <= MAX_SHOWN_LENGTH
    ? text
    : `${text.slice(0, MAX_SHOWN_LENGTH - 1).replace(/[\ud800-\udbff]$/, "")}…`;
}
