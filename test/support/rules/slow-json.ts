/**
 * A simple recursive JSON reader on decoded text, with which others are compared.
 *
 * Unlike `JSON.parse`, it keeps duplicate keys, the text of numbers and the offsets of values. It recurses, so it must
 * not be given texts that are nested more than a few thousand levels deep.
 */

/** A JSON value with what `JSON.parse` would lose. `start` and `end` are offsets in UTF-16 units. */
export type JsonNode = { readonly start: number; readonly end: number } & (
  | { readonly kind: "null" }
  | { readonly kind: "boolean"; readonly value: boolean }
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
const ESCAPES: Readonly<Record<string, string>> = {
  '"': '"',
  "\\": "\\",
  "/": "/",
  b: "\b",
  f: "\f",
  n: "\n",
  r: "\r",
  t: "\t",
};

class Malformed extends Error {}

/** The tree of a JSON text, or null when the text is not JSON. */
export function readJson(text: string): JsonNode | null {
  try {
    return new Reader(text).readDocument();
  } catch (error) {
    if (error instanceof Malformed) return null;
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
    if (this.#at !== this.#text.length) throw new Malformed();
    return node;
  }

  #readValue(): JsonNode {
    const start = this.#at;
    const first = this.#text[start];
    if (first === "{") {
      const members = this.#readMembers();
      return { kind: "object", members, start, end: this.#at };
    }
    if (first === "[") {
      const items = this.#readItems();
      return { kind: "array", items, start, end: this.#at };
    }
    if (first === '"') {
      const value = this.#readString();
      return { kind: "string", value, start, end: this.#at };
    }
    if (this.#takes("null")) return { kind: "null", start, end: this.#at };
    if (this.#takes("true")) return { kind: "boolean", value: true, start, end: this.#at };
    if (this.#takes("false")) return { kind: "boolean", value: false, start, end: this.#at };
    NUMBER.lastIndex = start;
    const number = NUMBER.exec(this.#text)?.[0];
    if (number === undefined) throw new Malformed();
    this.#at += number.length;
    return { kind: "number", text: number, start, end: this.#at };
  }

  #readMembers(): JsonMember[] {
    const members: JsonMember[] = [];
    this.#expect("{");
    this.#skipWhitespace();
    if (this.#takes("}")) return members;
    do {
      this.#skipWhitespace();
      const key = this.#readString();
      this.#skipWhitespace();
      this.#expect(":");
      this.#skipWhitespace();
      members.push({ key, value: this.#readValue() });
      this.#skipWhitespace();
    } while (this.#takes(","));
    this.#expect("}");
    return members;
  }

  #readItems(): JsonNode[] {
    const items: JsonNode[] = [];
    this.#expect("[");
    this.#skipWhitespace();
    if (this.#takes("]")) return items;
    do {
      this.#skipWhitespace();
      items.push(this.#readValue());
      this.#skipWhitespace();
    } while (this.#takes(","));
    this.#expect("]");
    return items;
  }

  #readString(): string {
    this.#expect('"');
    let value = "";
    for (;;) {
      const unit = this.#text[this.#at];
      if (unit === undefined || unit < " ") throw new Malformed();
      this.#at++;
      if (unit === '"') return value;
      value += unit === "\\" ? this.#readEscape() : unit;
    }
  }

  #readEscape(): string {
    const letter = this.#text[this.#at] ?? "";
    this.#at++;
    if (letter !== "u") {
      const meaning = Object.hasOwn(ESCAPES, letter) ? ESCAPES[letter] : undefined;
      if (meaning === undefined) throw new Malformed();
      return meaning;
    }
    const digits = this.#text.slice(this.#at, this.#at + 4);
    if (!/^[0-9a-fA-F]{4}$/.test(digits)) throw new Malformed();
    this.#at += 4;
    return String.fromCharCode(Number.parseInt(digits, 16));
  }

  #skipWhitespace(): void {
    while (this.#takes(" ") || this.#takes("\t") || this.#takes("\n") || this.#takes("\r"));
  }

  #expect(word: string): void {
    if (!this.#takes(word)) throw new Malformed();
  }

  #takes(word: string): boolean {
    if (!this.#text.startsWith(word, this.#at)) return false;
    this.#at += word.length;
    return true;
  }
}
