/** JSON as the platform reads it, with what `JSON.parse` loses: duplicate keys, the text of numbers, and where values are. */

/** `start` and `end` are offsets in UTF-16 units. */
export type JsonNode = { readonly start: number; readonly end: number } & (
  | { readonly kind: "null" | "boolean" }
  | { readonly kind: "number"; readonly text: string }
  | { readonly kind: "string"; readonly value: string }
  | { readonly kind: "array"; readonly items: readonly JsonNode[] }
  | { readonly kind: "object"; readonly members: readonly JsonMember[] }
);

export interface JsonMember {
  readonly key: string;
  readonly value: JsonNode;
}

/** Only of a text that is JSON: commas, colons and white space say nothing more. */
const TOKEN = /"(?:[^"\\]|\\.)*"|[{}[\]]|[^\s"{}[\],:]+/g;

/** The tree of a JSON text that is nested no more than a few thousand levels deep, or null when the text is not JSON. */
export function readJson(text: string): JsonNode | null {
  try {
    JSON.parse(text);
  } catch {
    return null;
  }
  const tokens = [...text.matchAll(TOKEN)].values();
  let end = 0;

  function next(): { readonly word: string; readonly start: number } {
    const { 0: word = "", index = 0 } = tokens.next().value ?? {};
    end = index + word.length;
    return { word, start: index };
  }

  function readList<Item>(closing: string, read: (first: ReturnType<typeof next>) => Item): Item[] {
    const items: Item[] = [];
    for (let first = next(); first.word !== closing; first = next()) items.push(read(first));
    return items;
  }

  function readKind(word: string) {
    if (word === "{") return { kind: "object", members: readList("}", readMember) } as const;
    if (word === "[") return { kind: "array", items: readList("]", readValue) } as const;
    if (word.startsWith('"')) return { kind: "string", value: String(JSON.parse(word)) } as const;
    if (word === "null") return { kind: "null" } as const;
    return /^[tf]/.test(word) ? ({ kind: "boolean" } as const) : ({ kind: "number", text: word } as const);
  }

  function readValue({ word, start }: ReturnType<typeof next>): JsonNode {
    const node = readKind(word);
    return { ...node, start, end };
  }

  const readMember = ({ word }: ReturnType<typeof next>) => ({
    key: String(JSON.parse(word)),
    value: readValue(next()),
  });
  return readValue(next());
}
