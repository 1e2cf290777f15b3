/**
 * A simple recursive JSON reader on decoded text, with which others are compared.
 *
 * Unlike `JSON.parse`, which decodes its strings, it keeps duplicate keys, the text of numbers and the offsets of
 * values. It recurses, so it must not be given texts that are nested more than a few thousand levels deep.
 */

/** A JSON value with what `JSON.parse` would lose. `start` and `end` are offsets in UTF-16 units. */
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

const NUMBER = /-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?/y;

/** The tree of a JSON text, or null when the text is not JSON. */
export function readJson(text: string): JsonNode | null {
  try {
    return readDocument(text);
  } catch (error) {
    if (error instanceof SyntaxError) return null;
    throw error;
  }
}

function readDocument(text: string): JsonNode {
  let at = 0;

  function takes(word: string): boolean {
    if (!text.startsWith(word, at)) return false;
    at += word.length;
    return true;
  }

  function expect(word: string): void {
    if (!takes(word)) throw new SyntaxError(`no ${word}`);
  }

  function skipWhitespace(): void {
    while (takes(" ") || takes("\t") || takes("\n") || takes("\r"));
  }

  function readValue(): JsonNode {
    skipWhitespace();
    const start = at;
    const node = readKind();
    const end = at;
    skipWhitespace();
    return { ...node, start, end };
  }

  function readKind() {
    switch (text[at]) {
      case "{":
        return { kind: "object", members: readList("{", "}", readMember) } as const;
      case "[":
        return { kind: "array", items: readList("[", "]", readValue) } as const;
      case '"':
        return { kind: "string", value: readString() } as const;
    }
    if (takes("null")) return { kind: "null" } as const;
    if (takes("true") || takes("false")) return { kind: "boolean" } as const;
    NUMBER.lastIndex = at;
    const number = NUMBER.exec(text)?.[0];
    if (number === undefined) throw new SyntaxError("no value");
    at += number.length;
    return { kind: "number", text: number } as const;
  }

  function readList<Member>(opening: string, closing: string, readMember: () => Member): Member[] {
    const members: Member[] = [];
    expect(opening);
    skipWhitespace();
    if (takes(closing)) return members;
    do members.push(readMember());
    while (takes(","));
    expect(closing);
    return members;
  }

  function readMember(): JsonMember {
    skipWhitespace();
    const key = readString();
    skipWhitespace();
    expect(":");
    return { key, value: readValue() };
  }

  function readString(): string {
    const start = at;
    expect('"');
    while (!takes('"')) {
      if (at >= text.length) throw new SyntaxError("no end of a string");
      at += text[at] === "\\" ? 2 : 1;
    }
    // It says whether characters and escapes are allowed.
    return JSON.parse(text.slice(start, at));
  }

  const node = readValue();
  if (at !== text.length) throw new SyntaxError("more than a value");
  return node;
}
