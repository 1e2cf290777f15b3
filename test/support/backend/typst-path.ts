/** Where Typst is. Only a test that renders asks for it, so the others run without it. */
import { inject } from "vitest";

export function typstPath(): string {
  const typst = inject("typst");
  if ("error" in typst) throw new Error(typst.error);
  return typst.path;
}
