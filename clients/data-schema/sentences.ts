/**
 * Says in plain words what the validator found. If a schema offers several forms (`anyOf`, `oneOf`), only the mistakes
 * of the form that was probably meant are reported.
 */
import * as Instance from "@hyperjump/json-schema/instance/experimental";
import type { Branch, Failure } from "./failures.ts";
import { LEAVE_OUT_QUOTES } from "./finding.ts";
import { expand, itemsOf, membersOf, schemaAt, stringsOf } from "./schema-value.ts";
import { similarName } from "./similar-name.ts";

type JsonNode = Instance.JsonNode;

export interface Mistake {
  /** The value, or the name of a member. */
  readonly node: JsonNode;
  readonly message: string;
  /** What is put after the message. It compares names, so it is asked for only if the mistake is shown. */
  readonly hint?: () => string;
  readonly missing?: string;
  /** The known name that an unknown one may stand for. */
  readonly meant?: () => string | null;
}

export interface Subject {
  readonly text: string;
  readonly schema: unknown;
}

const MAX_SHOWN_VALUES = 8;
const MAX_SHOWN_LENGTH = 60;
/** Without a comma before "or". */
const ALTERNATIVES = new Intl.ListFormat("en-GB", { type: "disjunction" });

const TYPES: { readonly [type: string]: string } = {
  integer: "a whole number",
  array: "an array",
  object: "an object",
  null: "null",
  boolean: "true or false",
};

const FORMATS: { readonly [format: string]: string } = {
  date: "a date such as 2026-03-31",
  time: "a time with its offset, such as 14:30:00Z",
  "date-time": "a date and time with its offset, such as 2026-03-31T14:30:00Z",
  email: "an email address",
  hostname: "a host name such as example.com",
  uri: "a URL with its scheme, such as https://example.com/",
  "uri-reference": "a URL or a part of one, in ASCII",
  uuid: "a UUID such as 123e4567-e89b-42d3-a456-426614174000",
  regex: "a regular expression",
};

const BOUNDS: { readonly [keyword: string]: string } = {
  minimum: "at least",
  maximum: "at most",
  exclusiveMinimum: "more than",
  exclusiveMaximum: "less than",
  multipleOf: "a multiple of",
};

const COUNTS: { readonly [keyword: string]: readonly [bound: string, noun: string] } = {
  minLength: ["at least", "character"],
  maxLength: ["at most", "character"],
  minItems: ["at least", "item"],
  maxItems: ["at most", "item"],
  minProperties: ["at least", "member"],
  maxProperties: ["at most", "member"],
};

/** Each is compared with all names of its schema. A misspelt name beyond them is counted twice. */
const MAX_COMPARED_NAMES = 50;

/** The mistakes behind the failures, in the order of the text, each once. */
export function mistakesOf(failures: readonly Failure[], subject: Subject): Mistake[] {
  const known = new Set<string>();
  const all = explainAll(failures, subject)
    .filter(({ node, message }) => {
      const identity = `${node.offset} ${message}`;
      return !known.has(identity) && known.add(identity);
    })
    .sort((left, right) => (left.node.offset ?? 0) - (right.node.offset ?? 0));
  const misspelt = misspeltMembers(all);
  return all.filter(({ node, missing }) => missing === undefined || !misspelt.has(`${node.offset} ${missing}`));
}

/** A misspelt name is one mistake, not an unknown member and a missing one. */
function misspeltMembers(mistakes: readonly Mistake[]): Set<string> {
  const lacking = new Set(mistakes.flatMap(({ node, missing }) => (missing === undefined ? [] : node.offset)));
  const found = new Set<string>();
  let compared = 0;
  for (const { node, meant } of mistakes) {
    const object = node.parent?.parent?.offset;
    if (meant === undefined || !lacking.has(object)) continue;
    if (++compared > MAX_COMPARED_NAMES) break;
    found.add(`${object} ${meant()}`);
  }
  return found;
}

function explainAll(failures: readonly Failure[], subject: Subject): Mistake[] {
  // What a failed subschema describes is not evaluated: it would be reported as an unknown member besides.
  const reasons = failures.filter(({ keyword }) => !keyword.startsWith("unevaluated"));
  return (reasons.length > 0 ? reasons : failures).flatMap((failure) => explain(failure, subject));
}

function explain(failure: Failure, subject: Subject): Mistake[] {
  const { keyword, instance, branches } = failure;
  if (keyword === "anyOf" || keyword === "oneOf") return explainChoice(failure, subject);
  if (keyword === "required") return missingMembers(failure, subject);
  if (passesOn(failure)) return branches.flatMap((branch) => explainBranch(failure, branch, subject));
  return [{ node: instance, ...describeFailure(failure, subject) }];
}

function passesOn({ keyword, branches }: Failure): boolean {
  return branches.length > 0 && !["anyOf", "oneOf", "contains"].includes(keyword);
}

function explainBranch(failure: Failure, branch: Branch, subject: Subject): Mistake[] {
  if (branch.failures.length > 0) return explainAll(branch.failures, subject);
  // The schema is `false`.
  const { keyword } = failure;
  const { instance } = branch;
  const { parent } = instance;
  if (keyword === "items") {
    const allowed = countInWords(parent?.children.indexOf(instance) ?? 0, "item");
    return [{ node: instance, message: `is one too many: at most ${allowed} may be here` }];
  }
  const name = parent?.type === "property" ? parent.children[0] : undefined;
  if (name === undefined || !/^(?:additional|unevaluated)Properties$/.test(keyword)) {
    return [{ node: name ?? instance, message: "must not be here" }];
  }
  const meant = () => {
    const present = new Set(Object.keys(Instance.value<object>(parent?.parent ?? instance)));
    const free = knownNames(parentSchema(failure, subject), subject).filter((known) => !present.has(known));
    return similarName(Instance.value<string>(name), free);
  };
  return [{ node: name, meant, message: "is not a known member", hint: () => askForMeant(meant()) }];
}

function askForMeant(meant: string | null): string {
  return meant === null ? "" : `. Did you mean ${quote(meant)}?`;
}

function missingMembers(failure: Failure, subject: Subject): Mistake[] {
  const { instance, value } = failure;
  const present = new Set(Object.keys(Instance.value<object>(instance)));
  const hint = (name: string) => {
    const known = new Set(knownNames(parentSchema(failure, subject), subject));
    const meant = similarName(name, present.difference(known));
    return meant === null ? "" : `. Is ${quote(meant)} a misspelling of it?`;
  };
  return stringsOf(value)
    .filter((name) => !present.has(name))
    .map((name) => ({
      node: instance,
      missing: name,
      message: `${quote(name)} is missing`,
      hint: () => hint(name),
    }));
}

/** Reports only the mistakes of the form that was probably meant. */
function explainChoice({ keyword, instance, branches, value }: Failure, subject: Subject): Mistake[] {
  const count = itemsOf(value).length;
  if (keyword === "oneOf" && branches.length < count) {
    const fitting = count - branches.length;
    return [{ node: instance, message: `fits ${fitting} of ${count} forms, but must fit exactly one` }];
  }
  const forms = branches.map(leavesOf);
  const typesOf = (leaves: readonly Failure[]) =>
    leaves.flatMap((leaf) => (leaf.keyword === "type" && leaf.instance === instance ? stringsOf(leaf.value) : []));
  const ofType = forms.filter((leaves) => typesOf(leaves).length === 0);
  if (ofType.length === 0) {
    return [{ node: instance, message: describeWrongType([...new Set(forms.flatMap(typesOf))], instance, subject) }];
  }
  // Members that tell which form is meant, such as `"kind": "card"`.
  const isValue = (leaf: Failure) => leaf.keyword === "const" || leaf.keyword === "enum";
  const tells = (leaf: Failure) => isValue(leaf) && leaf.instance.parent?.parent === instance;
  const told = ofType.filter((leaves) => !leaves.some(tells));
  const meant = told.length > 0 ? told : ofType;
  const values = meant.map((leaves) => leaves.filter(isValue));
  const [place, ...others] = new Set(values.flat().map((leaf) => leaf.instance));
  if (meant.length > 1 && place !== undefined && others.length === 0 && values.every((found) => found.length > 0)) {
    const allowed = values.flat().flatMap((leaf) => [leaf.value].flat().map(String));
    return [{ node: place, ...describeWrongValue([...new Set(allowed)], place, subject) }];
  }
  const sentences = meant.map((leaves) => explainAll(leaves, subject));
  const closest = sentences.reduce((best, next) => (next.length < best.length ? next : best));
  if (meant.length === 1) return closest;
  const hintOf = ({ hint }: Mistake) => `${hint?.() ?? ""} (in the closest of ${count} forms)`;
  return closest.map((mistake) => ({ ...mistake, hint: () => hintOf(mistake) }));
}

function leavesOf({ failures }: Branch): Failure[] {
  return failures.flatMap((failure) => {
    const hasReasons = failure.branches.every(({ failures: inner }) => inner.length > 0);
    return passesOn(failure) && hasReasons ? failure.branches.flatMap(leavesOf) : [failure];
  });
}

type Description = Pick<Mistake, "message" | "hint">;

function describeFailure(failure: Failure, subject: Subject): Description {
  const { keyword, value, instance } = failure;
  if (keyword === "enum") return describeWrongValue(stringsOf(value), instance, subject);
  if (keyword === "const") return describeWrongValue([String(value)], instance, subject);
  return { message: describeUnfit(failure, subject) };
}

function describeUnfit(failure: Failure, subject: Subject): string {
  const { keyword, value, instance } = failure;
  const shown = shownValue(instance, subject);
  const bound = BOUNDS[keyword];
  if (bound !== undefined) return `must be ${bound} ${value}, not ${shown}`;
  const counted = COUNTS[keyword];
  if (counted !== undefined) {
    const { length } = instance.type === "string" ? [...Instance.value<string>(instance)] : instance.children;
    if (keyword === "minLength" && length === 0) return "must not be empty";
    return `must have ${counted[0]} ${countInWords(Number(value), counted[1])}, not ${length}`;
  }
  switch (keyword) {
    case "type":
      return describeWrongType(stringsOf(value), instance, subject);
    case "pattern": {
      const { description } = membersOf(parentSchema(failure, subject));
      const meaning = typeof description === "string" ? ` (${shorten(description)})` : "";
      const pattern = value instanceof RegExp ? value.source : String(value);
      return `must match the pattern ${shorten(pattern)}${meaning}, not ${shown}`;
    }
    case "format":
    case "format-assertion":
      return `must be ${FORMATS[String(value)] ?? `of the format ${value}`}, not ${shown}`;
    case "uniqueItems":
      return "must not have an item twice";
    default:
      return `does not fit ${quote(keyword)} in the schema`;
  }
}

function describeWrongType(types: readonly string[], instance: JsonNode, subject: Subject): string {
  const wanted = ALTERNATIVES.format(types.map((type) => TYPES[type] ?? `a ${type}`));
  return `must be ${wanted}, not ${shownValue(instance, subject)}${typeHint(types, instance)}`;
}

function typeHint(types: readonly string[], instance: JsonNode): string {
  if (instance.type === "string") {
    const text = Instance.value<string>(instance);
    const isNumber =
      /^-?(?:0|[1-9]\d*)(?:\.\d+)?$/.test(text) && types.some((type) => /^(?:number|integer)$/.test(type));
    const isBoolean = /^(?:true|false)$/.test(text) && types.includes("boolean");
    return isNumber || isBoolean ? LEAVE_OUT_QUOTES : "";
  }
  const isScalar = instance.type === "number" || instance.type === "boolean";
  return isScalar && types.includes("string") ? ": put it in quotes" : "";
}

/** @param values as JSON */
function describeWrongValue(values: readonly string[], instance: JsonNode, subject: Subject): Description {
  const shown = values.slice(0, MAX_SHOWN_VALUES).map(shorten);
  const more = values.length - shown.length;
  const wanted = more > 0 ? `one of ${shown.join(", ")} and ${more} more` : ALTERNATIVES.format(shown);
  const texts = () => values.flatMap((value) => (value.startsWith('"') ? [String(JSON.parse(value))] : []));
  const message = `must be ${wanted}, not ${shownValue(instance, subject)}`;
  if (instance.type !== "string" || values.length === 1) return { message };
  return { message, hint: () => askForMeant(similarName(Instance.value<string>(instance), texts())) };
}

function shownValue(node: JsonNode, { text }: Subject): string {
  const { type, offset = 0, length = 0 } = node;
  if (type === "object" || type === "array") return `an ${type}`;
  if (type === "string") return `the string ${quote(Instance.value<string>(node))}`;
  const shown = shorten(text.slice(offset, offset + length));
  return type === "number" ? `the number ${shown}` : shown;
}

/** The names of members that a schema lists, itself or in schemas that it refers to or combines. */
function knownNames(schema: unknown, subject: Subject): string[] {
  const schemas = expand([schema], subject.schema);
  const names = schemas.flatMap(({ properties, required }) => [
    ...Object.keys(membersOf(properties)),
    ...stringsOf(required),
  ]);
  return [...new Set(names)];
}

function parentSchema({ location }: Failure, subject: Subject): unknown {
  return schemaAt(location.slice(0, location.lastIndexOf("/")), subject.schema);
}

function countInWords(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? "" : "s"}`;
}

function quote(text: string): string {
  return shorten(JSON.stringify(text));
}

function shorten(text: string): string {
  return text.length <= MAX_SHOWN_LENGTH
    ? text
    : `${text.slice(0, MAX_SHOWN_LENGTH - 1).replace(/[\ud800-\udbff]$/, "")}…`;
}
