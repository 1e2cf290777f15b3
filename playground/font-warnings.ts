/** Loads the bundle that warns of missing fonts, once there is a document. */
import type { Draft } from "./draft.ts";

/** The warnings to show; empty without a connection. Never rejects. */
export async function fontWarnings(draft: Draft): Promise<readonly string[]> {
  const address = "/playground/missing-fonts.js";
  try {
    const { missingFontWarnings }: typeof import("./missing-fonts.ts") = await import(address);
    return await missingFontWarnings(draft);
  } catch {
    return [];
  }
}
