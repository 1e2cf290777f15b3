/**
 * Makes the validator compare numbers by all digits of the text. By itself it compares JavaScript numbers, while the
 * service passes numbers on as they are written: `12345678901234567891` would pass as the `12345678901234567890` of an
 * enum.
 *
 * Only numbers that a double cannot hold are recorded, so nothing changes for all others, except that `multipleOf` is
 * exact: the validator itself tolerates an error so large that 1.00000001 is a multiple of 0.01.
 */
import { addKeyword, getKeyword } from "@hyperjump/json-schema/experimental";
import * as Instance from "@hyperjump/json-schema/instance/experimental";
import { canonicalText, compareDecimals, type Decimal, decimalOf, isInteger, isMultiple } from "./decimal.ts";

type JsonNode = Instance.JsonNode;

/** The exact values of numbers that a double cannot hold. */
const EXACT = new WeakMap<JsonNode, Decimal>();
/** Those numbers, and all values that contain them. */
const INEXACT = new WeakSet<JsonNode>();

/** All values of a tree and the names of its members, without recursion. */
export function* nodesOf(root: JsonNode): Generator<JsonNode> {
  const open = [root];
  for (let node = open.pop(); node !== undefined; node = open.pop()) {
    yield node;
    for (let index = node.children.length - 1; index >= 0; index--) {
      const child = node.children[index];
      if (child !== undefined) open.push(child);
    }
  }
}

/** The text of a value. */
export function textOf(node: JsonNode, text: string): string {
  const start = node.offset ?? 0;
  return text.slice(start, start + (node.length ?? 0));
}

/** Records the numbers of a tree that a double cannot hold. @returns these numbers */
export function noteExactNumbers(root: JsonNode, text: string): JsonNode[] {
  const found: JsonNode[] = [];
  for (const node of nodesOf(root)) {
    if (node.type !== "number") continue;
    const exact = decimalOf(textOf(node, text));
    const held = Instance.value<number>(node);
    if (Number.isFinite(held) && canonicalText(exact) === canonicalText(decimalOf(String(held)))) continue;
    found.push(node);
    EXACT.set(node, exact);
    for (let outer: JsonNode | undefined = node; outer !== undefined; outer = outer.parent) INEXACT.add(outer);
  }
  return found;
}

/** The same text for equal values, however their numbers are written and their members are ordered. */
export function identityOf(node: JsonNode): string {
  switch (node.type) {
    case "number":
      return canonicalText(EXACT.get(node) ?? decimalOf(String(Instance.value<number>(node))));
    case "array":
      return `[${node.children.map(identityOf).join()}]`;
    case "object": {
      const members = node.children.flatMap(({ children: [name, value] }) =>
        name === undefined || value === undefined
          ? []
          : [`${JSON.stringify(Instance.value(name))}:${identityOf(value)}`],
      );
      return `{${members.sort().join()}}`;
    }
    default:
      return JSON.stringify(Instance.value(node));
  }
}

/** Replaces how a keyword judges some values. If `judge` returns null, the validator judges the value itself. */
function replace<Value>(name: string, judge: (value: Value, instance: JsonNode) => boolean | null): void {
  const id = `https://json-schema.org/keyword/${name}`;
  const keyword = getKeyword<Value>(id);
  addKeyword<Value>({
    ...keyword,
    interpret: (value, instance, context) => judge(value, instance) ?? keyword.interpret(value, instance, context),
  });
}

function replaceComparison(name: string, isMet: (order: number) => boolean): void {
  replace<number>(name, (limit, instance) => {
    const exact = EXACT.get(instance);
    return exact === undefined ? null : isMet(compareDecimals(exact, decimalOf(String(limit))));
  });
}

replaceComparison("minimum", (order) => order >= 0);
replaceComparison("exclusiveMinimum", (order) => order > 0);
replaceComparison("maximum", (order) => order <= 0);
replaceComparison("exclusiveMaximum", (order) => order < 0);
replace<number>("multipleOf", (of, instance) => {
  if (instance.type !== "number") return null;
  const number = EXACT.get(instance) ?? decimalOf(String(Instance.value<number>(instance)));
  return isMultiple(number, decimalOf(String(of)));
});
replace<string | readonly string[]>("type", (types, instance) => {
  const exact = EXACT.get(instance);
  if (exact === undefined) return null;
  const names = [types].flat();
  return names.includes("number") || (names.includes("integer") && isInteger(exact));
});
// A schema must not have such numbers (data-schema.ts), so nothing in it equals a value that contains one.
for (const name of ["const", "enum"]) replace<unknown>(name, (_, instance) => (INEXACT.has(instance) ? false : null));
replace<boolean>("uniqueItems", (isWanted, instance) => {
  if (!isWanted || instance.type !== "array" || !INEXACT.has(instance)) return null;
  return new Set(instance.children.map(identityOf)).size === instance.children.length;
});
