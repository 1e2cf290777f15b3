/** The tree that is read from the memory of Typst's parser, against the one that the parser itself hands over. */
import { readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { assert, constantFrom, array as listOf, property } from "fast-check";
import { beforeAll, describe, expect, it } from "vitest";
import { type SyntaxNode, TypstParser } from "../../../clients/template/parser.ts";

const PACKAGE = new URL("../../../node_modules/codemirror-lang-typst/wasm/", import.meta.url);

/** As the package's own script makes it. */
interface OwnNode {
  readonly kind: number;
  readonly length: number;
  readonly children: readonly OwnNode[];
}

interface OwnScript {
  __wbg_set_wasm(exports: WebAssembly.Exports): void;
  readonly TypstWasmParser: {
    new (text: string): { tree(): OwnNode; free(): void };
    get_node_types(): readonly (readonly [name: string, number: number])[];
  };
}

let parser: TypstParser;
let own: OwnScript["TypstWasmParser"];
let names: ReadonlyMap<number, string>;

beforeAll(async () => {
  const module = new WebAssembly.Module(await readFile(new URL("typst_syntax_bg.wasm", PACKAGE)));
  const script: WebAssembly.ModuleImports & OwnScript = await import(new URL("typst_syntax_bg.js", PACKAGE).href);
  const { exports } = new WebAssembly.Instance(module, { "./typst_syntax_bg.js": script });
  script.__wbg_set_wasm(exports);
  const start = exports.__wbindgen_start;
  if (typeof start === "function") start();
  own = script.TypstWasmParser;
  names = new Map(own.get_node_types().map(([name, number]) => [number, name]));
  parser = new TypstParser(module);
});

function ownTree(text: string) {
  const made = new own(text);
  const simplify = ({ kind, length, children }: OwnNode): unknown => [names.get(kind), length, children.map(simplify)];
  const tree = simplify(made.tree());
  made.free();
  return tree;
}

function readTree(text: string) {
  const simplify = ({ kind, start, end, children }: SyntaxNode): unknown => [kind, end - start, children.map(simplify)];
  const tree = parser.parse(text);
  return tree && simplify(tree.root);
}

describe("the tree of Typst's parser", () => {
  it("is that which the parser hands over, for a template with all that it needs", async () => {
    const path = fileURLToPath(new URL("../../../examples/invoice/lib/invoice.typ", import.meta.url));
    const text = await readFile(path, "utf8");
    expect(readTree(text)).toEqual(ownTree(text));
  });

  it("is the same for any text, also one that is no Typst, or grows the memory", () => {
    const parts = ["#", "let ", "x", "(", ")", "[", "]", "{", "}", '"', "$", "é", "😀", "1.2.", "..", "=>", ": ", ","];
    const more = ["\n", " ", "//", "/*", "*/", "@a", "<b>", "*", "_", "`", "\\u{1}", "- ", "= ", "^", "import ", "+ "];
    assert(
      property(listOf(constantFrom(...parts, ...more), { maxLength: 60 }), (words) => {
        expect(readTree(words.join(""))).toEqual(ownTree(words.join("")));
      }),
      { numRuns: 2000 },
    );
    const long = '#f("é", 1)\n'.repeat(20_000);
    expect(readTree(long)).toEqual(ownTree(long));
  });

  it("has each node in its list, with its place and what it is in", () => {
    const text = "#let é = [😀 *a*]";
    const tree = parser.parse(text);
    const [strong] = tree?.nodesOf("Strong") ?? [];
    expect(text.slice(strong?.start, strong?.end)).toBe("*a*");
    expect(strong?.parent?.parent?.kind).toBe("ContentBlock");
    expect(tree?.root.children.at(-1)?.parent).toBe(tree?.root);
  });

  it("is none for a nesting that is too deep, and one again for the next text", () => {
    expect(parser.parse(`#${"(".repeat(100_000)}`)).toBeNull();
    expect(readTree("#x")).toEqual(ownTree("#x"));
  });
});
