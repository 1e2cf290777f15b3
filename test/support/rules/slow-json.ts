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
    return new Reader(text).readDocument();
  } catch (error) {
    if (error instanceof SyntaxError) return null;
    throw error;
  }
}

class Reader {
  readonly #text: string;
  #at = 0;

  constructor(text: string) {
    this.#text = text;
  }

  readDocument(): JsonNode {
    this.#skipWhitespace();
    const node = this.#readValue();
    this.#skipWhitespace();
    if (this.#at !== this.#text.length) throw new SyntaxError("more than a value");
    return node;
  }

  #readValue(): JsonNode {
    const start = this.#at;
    switch (this.#text[start]) {
      case "{": {
        const members = this.#readList("{", "}", () => this.#readMember());
        return { kind: "object", members, start, end: this.#at };
      }
      case "[": {
        const items = this.#readList("[", "]", () => this.#readValue());
        return { kind: "array", items, start, end: this.#at };
      }
      case '"': {
        const value = this.#readString();
        return { kind: "string", value, start, end: this.#at };
      }
    }
    if (this.#takes("null")) return { kind: "null", start, end: this.#at };
    if (this.#takes("true") || this.#takes("false")) return { kind: "boolean", start, end: this.#at };
    NUMBER.lastIndex = start;
    const number = NUMBER.exec(this.#text)?.[0];
    if (number === undefined) throw new SyntaxError("no value");
    this.#at += number.length;
    return { kind: "number", text: number, start, end: this.#at };
  }

  #readList<Member>(opening: string, closing: string, readMember: () => Member): Member[] {
    const members: Member[] = [];
    this.#expect(opening);
    this.#skipWhitespace();
    if (this.#takes(closing)) return members;
    do {
      this.#skipWhitespace();
      members.push(readMember());
      this.#skipWhitespace();
    } while (this.#takes(","));
    this.#expect(closing);
    return members;
  }

  #readMember(): JsonMember {
    const key = this.#readString();
    this.#skipWhitespace();
    this.#expect(":");
    this.#skipWhitespace();
    return { key, value: this.#readValue() };
  }

  #readString(): string {
    const start = this.#at;
    this.#expect('"');
    while (!this.#takes('"')) {
      if (this.#at >= this.#text.length) throw new SyntaxError("no end of a string");
      this.#at += this.#text[this.#at] === "\\" ? 2 : 1;
    }
    // It says whether characters and escapes are allowed.
    return JSON.parse(this.#text.slice(start, this.#at));
  }

  #skipWhitespace(): void {
    while (this.#takes(" ") || this.#takes("\t") || this.#takes("\n") || this.#takes("\r"));
  }

  #expect(word: string): void {
    if (!this.#takes(word)) throw new SyntaxError(`no ${word}`);
  }

  #takes(word: string): boolean {
    if (!this.#text.startsWith(word, this.#at)) return false;
    this.#at += word.length;
    return true;
  }
}
