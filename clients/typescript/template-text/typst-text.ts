/** Typst texts without what Typst passes over. What is left stays in its place. */
import { passedOver } from "./code-tokens.ts";

export function removeComments(source: string): string {
  return blank(source, (kind) => kind === "comment");
}

/** Raw text is an example, unless it is evaluated. */
export function removeCommentsAndRawText(source: string): string {
  return blank(source, () => true);
}

function blank(source: string, isBlanked: (kind: "comment" | "raw") => boolean): string {
  const kept: string[] = [];
  let end = 0;
  for (const one of passedOver(source)) {
    if (!isBlanked(one.kind)) continue;
    kept.push(source.slice(end, one.start), source.slice(one.start, one.end).replace(/[^\n]+/g, spaces));
    end = one.end;
  }
  return kept.join("") + source.slice(end);
}

function spaces({ length }: string): string {
  return " ".repeat(length);
}
