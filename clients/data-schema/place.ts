/** The place of a value: as a path, as a JSON Pointer, and as line and column of the text. */
import * as Instance from "@hyperjump/json-schema/instance/experimental";
import type { SchemaFinding } from "./finding.ts";

type JsonNode = Instance.JsonNode;

type Segment = string | number;

/** A mistake at a value, or at the name of a member. */
export function findingAt(node: JsonNode, text: string, message: string): SchemaFinding {
  const segments = segmentsOf(node);
  const pointer = segments.map((segment) => `/${String(segment).replaceAll("~", "~0").replaceAll("/", "~1")}`).join("");
  const { offset = 0, length = 0 } = node;
  return { path: pathInWords(segments), pointer, ...placeOf(text, offset), length, message };
}

/** A mistake at an offset, in a text that has no values: it is not JSON, or could not be validated. */
export function findingAtOffset(text: string, offset: number, message: string): SchemaFinding {
  return { path: "", pointer: "", ...placeOf(text, offset), length: 1, message };
}

function placeOf(text: string, offset: number) {
  const before = text.slice(0, offset).split("\n");
  return { offset, line: before.length, column: (before.at(-1) ?? "").length + 1 };
}

/** The path from the root to a value; to the member if the node is a member's name. */
function segmentsOf(node: JsonNode): Segment[] {
  const segments: Segment[] = [];
  for (let at = node; at.parent !== undefined; ) {
    const { parent } = at;
    if (parent.type === "property") {
      const [name] = parent.children;
      segments.push(name === undefined ? "" : Instance.value<string>(name));
      if (parent.parent === undefined) break;
      at = parent.parent;
    } else {
      segments.push(parent.children.indexOf(at));
      at = parent;
    }
  }
  return segments.reverse();
}

function pathInWords(segments: readonly Segment[]): string {
  const words = segments.map((segment) => {
    if (typeof segment === "number") return `[${segment}]`;
    return /^[\p{L}_$][\p{L}\p{N}_$-]*$/u.test(segment) ? `.${segment}` : `[${JSON.stringify(segment)}]`;
  });
  return words.join("").replace(/^\./, "");
}
