/**
 * Where a template takes values of its data for something else, without an error: members by names that the data lacks,
 * texts for arrays or numbers, HTML for markup.
 */
import { similarName } from "../data-schema/similar-name.ts";
import { bindingsOf, resolved } from "./bindings.ts";
import { argumentsOf, calledName, calleeOf } from "./calls.ts";
import { patternNames } from "./data-use.ts";
import {
  expressionsOf,
  hasName,
  lastName,
  nodesOf,
  type SyntaxNode,
  stringValue,
  type Template,
  textOf,
} from "./syntax-tree.ts";
import {
  findingAt,
  findTextArithmetic,
  isOfOther,
  MAX_NOTED_LENGTH,
  type TemplateFinding,
} from "./template-findings.ts";

/** Data, with what is found in it once for all templates. */
export interface KnownData {
  readonly value: unknown;
  /** The values of all members, by the members' names; empty if there are too many. */
  readonly members: ReadonlyMap<string, readonly unknown[]>;
  /** Of the objects that were asked for. */
  readonly names: WeakMap<object, readonly string[]>;
}

/** @param json may be empty, or no JSON: then nothing is known */
export function knownData(json: string): KnownData {
  const value = parsed(json);
  return { value, members: membersOf(value), names: new WeakMap() };
}

/**
 * @param numbers the members that are numbers, as text; null for those that look like amounts
 */
export function findDataMistakes(
  template: Template,
  known: KnownData,
  numbers: ReadonlySet<string> | null = null,
): TemplateFinding[] {
  const { value: data, members } = known;
  if (template.text.length > MAX_NOTED_LENGTH) return [];
  if (typeof data === "string") return readOfJsonText(template, data);
  if (typeof data !== "object" || data === null) return [];
  const project = { template, known };
  const arithmetic = findTextArithmetic(template, numbers ?? amountsIn(members));
  return [
    ...nodesOf(template, "FuncCall").flatMap((call) => misspelt(project, call) ?? []),
    ...nodesOf(template, "ForLoop").flatMap((loop) => letters(project, loop) ?? []),
    ...nodesOf(template, "Binary").flatMap((binary) => neverEqual(project, binary) ?? []),
    ...(arithmetic === null ? [] : [{ ...arithmetic, message: `${arithmetic.message}.` }]),
    ...(htmlShown(template, members) ?? []),
  ];
}

function parsed(json: string): unknown {
  try {
    return JSON.parse(json);
  } catch {
    return null;
  }
}

/** The data of a template that is JSON within a JSON string: programs encode it twice. */
function readOfJsonText(template: Template, data: string): TemplateFinding[] {
  const inner = parsed(data);
  const read = nodesOf(template, "FieldAccess").find(({ children: [name] }) => name && isData(template, name));
  if (typeof inner !== "object" || inner === null || read === undefined) return [];
  return [findingAt(read, "the data is a text that holds JSON, encoded twice: send the object itself.")];
}

interface ReadData {
  readonly template: Template;
  readonly known: KnownData;
}

function isData(template: Template, node: SyntaxNode): boolean {
  const name = node.kind === "Ident" ? textOf(template, node) : "";
  return (name === "data" || name === "request") && !bindingsOf(template).has(name);
}

/** Values are followed through so many expressions, and so many of an array are looked at. */
const MAX_DEPTH = 16;
const MAX_VALUES = 200;

/** The values that an expression has, one for each item that a loop goes through; null if that is not known. */
function valuesOf(read: ReadData, node: SyntaxNode, depth = 0): readonly unknown[] | null {
  const { template, known } = read;
  const value = resolved(template, node);
  if (depth > MAX_DEPTH) return null;
  if (isData(template, value)) return [known.value];
  if (value.kind === "Ident") return itemsCalled(read, value, depth);
  const [object] = value.children;
  if (value.kind === "FieldAccess" && object !== undefined) {
    return membersNamed(valuesOf(read, object, depth + 1), lastName(template, value));
  }
  const receiver = value.kind === "FuncCall" ? calleeOf(value)?.children[0] : undefined;
  if (receiver === undefined || calledName(template, value) !== "at") return null;
  const { positional, named } = argumentsOf(template, value);
  const [key] = positional;
  if (key?.kind !== "Str" || named.has("default")) return null;
  return membersNamed(valuesOf(read, receiver, depth + 1), stringValue(template, key));
}

function membersNamed(objects: readonly unknown[] | null, name: string): readonly unknown[] | null {
  if (objects === null || !objects.every(isObject)) return null;
  return objects.flatMap((object) => (Object.hasOwn(object, name) ? [object[name]] : []));
}

function isObject(value: unknown): value is { readonly [name: string]: unknown } {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Methods that give each item of an array to a function. */
const OF_ITEMS: ReadonlySet<string> = new Set(["map", "filter", "find", "any", "all", "position"]);

/** A function with more has no item for its first. */
const MAX_PARAMETERS = 8;

/** The values of a name that a loop or a function binds around it. */
function itemsCalled(read: ReadData, ident: SyntaxNode, depth: number): readonly unknown[] | null {
  const { template } = read;
  const name = textOf(template, ident);
  if ((bindingsOf(template).get(name)?.values.length ?? 0) > 0) return null;
  for (let node = ident.parent; node !== null; node = node.parent) {
    if (node.kind === "ForLoop") {
      const [pattern, iterable] = expressionsOf(node);
      if (!patternNames(template, pattern).includes(name)) continue;
      if (pattern?.kind !== "Ident" || iterable === undefined || ident.start < iterable.end) return null;
      return itemsOf(valuesOf(read, iterable, depth + 1));
    }
    if (node.kind !== "Closure") continue;
    const params = node.children.find(({ kind }) => kind === "Params");
    const [first, ...others] = params === undefined ? [] : expressionsOf(params);
    if (others.length > MAX_PARAMETERS) return null;
    if (first === undefined || ![first, ...others].some((one) => textOf(template, one).includes(name))) continue;
    const call = node.parent?.kind === "Args" ? node.parent.parent : null;
    const isOfItems = call !== null && OF_ITEMS.has(calledName(template, call));
    const receiver = isOfItems ? calleeOf(call)?.children[0] : undefined;
    if (others.length > 0 || textOf(template, first) !== name || receiver === undefined) return null;
    return itemsOf(valuesOf(read, receiver, depth + 1));
  }
  return null;
}

function itemsOf(arrays: readonly unknown[] | null): readonly unknown[] | null {
  return arrays?.every(Array.isArray) ? arrays.flat().slice(0, MAX_VALUES) : null;
}

/** `data.at("postions", default: ())`: the document is without what the data has under another name. */
function misspelt(read: ReadData, call: SyntaxNode): TemplateFinding | null {
  const { template } = read;
  const { positional, named } = argumentsOf(template, call);
  const receiver = calleeOf(call)?.children[0];
  const [key] = positional;
  if (calledName(template, call) !== "at" || !named.has("default") || key?.kind !== "Str") return null;
  const objects = receiver === undefined ? null : valuesOf(read, receiver);
  if (objects === null || objects.length === 0 || !objects.every(isObject)) return null;
  const name = stringValue(template, key);
  if (objects.some((object) => Object.hasOwn(object, name))) return null;
  const names = new Set(objects.flatMap((object) => namesOf(read.known, object)));
  const meant = names.size > MAX_NAMES ? null : similarName(name, names);
  // What the template reads under its own name as well, is another member.
  if (meant === null || template.text.includes(meant)) return null;
  return findingAt(key, `the data has no "${name}", so the default stands there: did you mean "${meant}"?`);
}

/** An object with more is a table by some key. */
const MAX_NAMES = 1000;

function namesOf({ names }: KnownData, object: object): readonly string[] {
  const known = names.get(object) ?? Object.keys(object);
  names.set(object, known);
  return known;
}

/** A text with several items in it. */
const LIST = /[,;|\n]/;

function letters(read: ReadData, loop: SyntaxNode): TemplateFinding | null {
  const [pattern, iterable] = expressionsOf(loop);
  const values = iterable === undefined || pattern?.kind !== "Ident" ? null : valuesOf(read, iterable);
  const [first] = values ?? [];
  if (iterable === undefined || typeof first !== "string") return null;
  if (!values?.every((value) => typeof value === "string" && LIST.test(value))) return null;
  const shown = textOf(read.template, iterable);
  return findingAt(
    iterable,
    `for goes through the letters of ${shown}, a text: ${shown}.split(…) makes an array of it.`,
  );
}

/** What a literal is in JSON. */
const LITERALS: ReadonlyMap<string, string> = new Map([
  ["Str", "string"],
  ["Bool", "boolean"],
  ["Int", "number"],
  ["Float", "number"],
]);
const COMPARED: ReadonlySet<string> = new Set(LITERALS.values());

/** `data.paid == "true"` */
function neverEqual(read: ReadData, binary: SyntaxNode): TemplateFinding | null {
  // A comparison by != lets everything through, which may be meant; who looks at types knows them.
  if (!binary.children.some(({ kind }) => kind === "EqEq") || read.template.text.includes("type(")) return null;
  const [left, right] = [binary.children[0], binary.children.at(-1)];
  if (left === undefined || right === undefined) return null;
  for (const [literal, other] of [[right, left] as const, [left, right] as const]) {
    const type = LITERALS.get(literal.kind);
    if (type === undefined || textOf(read.template, literal) === '""') continue;
    const values = (valuesOf(read, other) ?? []).filter((value) => value !== null);
    const isOther = (value: unknown) => COMPARED.has(typeof value) && typeof value !== type;
    if (values.length === 0 || !values.every(isOther)) continue;
    const [shown, written] = [textOf(read.template, other), textOf(read.template, literal)];
    const example = JSON.stringify(values[0]).slice(0, MAX_SHOWN);
    return findingAt(binary, `${shown} never equals ${written}: in the data it is ${example}.`);
  }
  return null;
}
const MAX_SHOWN = 40;

/** More values are looked through in no time that anybody would wait. */
const MAX_VISITED = 1_000_000;
/** Of so many names, nobody reads each. */
const MAX_MEMBERS = 10_000;

function membersOf(data: unknown): ReadonlyMap<string, readonly unknown[]> {
  const members = new Map<string, unknown[]>();
  let visited = 0;
  const visit = (value: unknown, depth: number): void => {
    if (typeof value !== "object" || value === null || depth > MAX_DEPTH) return;
    if (members.size > MAX_MEMBERS || ++visited > MAX_VISITED) return;
    for (const inner of Object.values(value)) visit(inner, depth + 1);
    for (const [name, inner] of Array.isArray(value) ? [] : Object.entries(value)) {
      const values = members.get(name) ?? [];
      members.set(name, values);
      if (values.length < MAX_VALUES) values.push(inner);
    }
  };
  visit(data, 0);
  // Of some of the values, nothing follows for all.
  return members.size > MAX_MEMBERS || visited > MAX_VISITED ? new Map() : members;
}

const NUMBER = /^-?\d+(?:[.,]\d+)?$/;
const WITH_FRACTION = /[.,]\d+$/;

/** The members that are amounts of money or the like, in quotes: 4.50, not the number of a house. */
function amountsIn(members: ReadonlyMap<string, readonly unknown[]>): ReadonlySet<string> {
  const isAmount = ([, values]: readonly [string, readonly unknown[]]) =>
    values.every((value) => typeof value === "string" && NUMBER.test(value)) &&
    values.some((value) => typeof value === "string" && WITH_FRACTION.test(value));
  return new Set([...members].filter(isAmount).map(([name]) => name));
}

const HTML = /&(?:amp|lt|gt|quot|nbsp|#\d+);|<\/?(?:p|b|i|strong|em|ul|ol|li)>|<br ?\/?>/;
/** A template that has one of these may know of it. */
const READS_HTML: ReadonlySet<string> = new Set(["xml", "eval", "replace", "regex", "split", "plugin"]);

function htmlShown(template: Template, members: ReadonlyMap<string, readonly unknown[]>): TemplateFinding[] {
  if (hasName(template, READS_HTML) || nodesOf(template, "ModuleImport").length > 0) return [];
  if (nodesOf(template, "ShowRule").some((rule) => /[&<]/.test(textOf(template, rule)))) return [];
  const withHtml = new Set(
    [...members].flatMap(([name, values]) =>
      values.some((value) => typeof value === "string" && HTML.test(value)) ? [name] : [],
    ),
  );
  const found = nodesOf(template, "FieldAccess").find(
    (node) => withHtml.has(lastName(template, node)) && !isRaw(template, node) && !isOfOther(template, node),
  );
  if (found === undefined) return [];
  const shown = textOf(template, found);
  const message = `${shown} has HTML, which is shown as it stands: the page /help/templates#rich-text-in-a-field has what reads it.`;
  return [findingAt(found, message)];
}

/** `raw(data.html)` is to show it. */
function isRaw(template: Template, { parent }: SyntaxNode): boolean {
  return parent?.kind === "Args" && parent.parent !== null && calledName(template, parent.parent) === "raw";
}
