/** Provides Typst's parser in a worker of the page: WebAssembly, which the policy of the page itself forbids. */
import { provideParser } from "../../template/syntax-tree.ts";

/** @throws if it cannot be loaded */
export async function openParser(): Promise<void> {
  const response = await fetch(new URL("typst-parser.bin", location.href));
  if (!response.ok) throw new Error(`the parser: ${response.status}`);
  const module = await WebAssembly.compile(await response.arrayBuffer());
  provideParser(() => module);
}
