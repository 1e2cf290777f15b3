/** SVG as Typst itself writes it, without the service. */
import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { execa } from "execa";
import { typstPath } from "./typst-path.ts";

export async function typstSvgPages(source: string | { readonly project: string }): Promise<Buffer[]> {
  const directory = await mkdtemp(join(tmpdir(), "typst-svg-"));
  try {
    const input = typeof source === "string" ? "-" : join(source.project, "main.typ");
    const fonts = typeof source === "string" ? [] : ["--font-path", source.project];
    const output = join(directory, "{p}");
    const options = ["--format", "svg", "--ignore-system-fonts", ...fonts, "--jobs", "1"];
    const text = typeof source === "string" ? source : "";
    await execa(typstPath(), ["compile", ...options, input, output], { input: text });
    const numbers = (await readdir(directory)).map(Number).sort((left, right) => left - right);
    return await Promise.all(numbers.map((number) => readFile(join(directory, String(number)))));
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}

export async function typstSvg(source: string): Promise<Buffer> {
  const [svg, ...others] = await typstSvgPages(source);
  if (svg === undefined || others.length > 0) throw new Error("the document must have one page");
  return svg;
}

/** Any text as a string literal of Typst. */
export function typstString(text: string): string {
  return `"${Array.from(text, (character) => `\\u{${character.codePointAt(0)?.toString(16)}}`).join("")}"`;
}
