/** The fenced blocks of a page of the documentation. */
import type { RenderRequest } from "../../../clients/typescript/render-request.ts";

export interface Block {
  readonly language: string;
  readonly text: string;
  /** The heading above it, and the line where it begins, to find it again. */
  readonly place: string;
}

/** A block in a list is indented. One without a language, or one that is not closed, is a mistake of its author. */
export function blocksOf(page: string): Block[] {
  const blocks: Block[] = [];
  let heading = "";
  let open: { language: string; line: number; indent: string; lines: string[] } | null = null;
  for (const [index, line] of page.split("\n").entries()) {
    const fence = /^(?<indent> *)```(?<language>\w*)$/.exec(line)?.groups;
    if (fence === undefined) {
      if (open !== null) open.lines.push(line.startsWith(open.indent) ? line.slice(open.indent.length) : line);
      else if (line.startsWith("#")) heading = line.replace(/^#+ /, "");
    } else if (open === null) {
      const { indent = "", language = "" } = fence;
      if (language === "") throw new Error(`line ${index + 1}: a block without a language`);
      open = { language, indent, line: index + 1, lines: [] };
    } else {
      blocks.push({ language: open.language, text: open.lines.join("\n"), place: `${heading}, line ${open.line}` });
      open = null;
    }
  }
  if (open !== null) throw new Error(`line ${open.line}: a block that is not closed`);
  return blocks;
}

/** Each Typst block, with the JSON block that follows it as the rest of its request. */
export function snippetsOf(page: string) {
  const blocks = blocksOf(page);
  return blocks.flatMap(({ language, text, place }, index) => {
    if (language === "json" && blocks[index - 1]?.language !== "typst")
      throw new Error(`${place}: JSON without source`);
    if (language !== "typst") return [];
    const next = blocks[index + 1];
    const rest: Omit<RenderRequest, "source"> = next?.language === "json" ? JSON.parse(next.text) : {};
    return [{ place, request: { source: text, ...rest } }];
  });
}
