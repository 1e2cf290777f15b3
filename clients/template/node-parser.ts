/** Provides the parser in Node. Import it for that alone, where a program begins. */
import { readFileSync } from "node:fs";
import { setFlagsFromString } from "node:v8";
import { provideParser } from "./syntax-tree.ts";

/** Where it is beside a bundle; `scripts/build-package.ts` puts it there. */
declare const TYPST_PARSER_FILE: string | undefined;

const PLACE =
  typeof TYPST_PARSER_FILE === "undefined"
    ? "../../node_modules/codemirror-lang-typst/wasm/typst_syntax_bg.wasm"
    : TYPST_PARSER_FILE;

provideParser(() => {
  // V8 would compile the parser once more, to run it faster, for longer than the texts of a project take.
  setFlagsFromString("--wasm-tiering-budget=1000000000");
  return new WebAssembly.Module(readFileSync(new URL(PLACE, import.meta.url)));
});
