/** The values of a JSON text as the validator has them, with their places in the text. */
import * as Instance from "@hyperjump/json-schema/instance/experimental";

type JsonNode = Instance.JsonNode;

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

export function textOf(node: JsonNode, text: string): string {
  const start = node.offset ?? 0;
  return text.slice(start, start + (node.length ?? 0));
}

/** The same text for equal values, however their members are ordered. */
export function identityOf(node: JsonNode): string {
  switch (node.type) {
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
