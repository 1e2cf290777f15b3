/**
 * Finds fonts and characters that a draft needs and that neither the draft nor the deployment has. It is a separate bundle, loaded
 * after the first document, so that typing never waits for it.
 */
import { describeMissing, missingFonts } from "../client/missing-fonts.ts";
import { CAPABILITIES_PATH, parseCapabilities } from "../protocol/capabilities.ts";
import type { Draft } from "./draft.ts";

/** One sentence for each family, and one for all characters; empty if the deployment does not say what it has. */
export async function missingFontWarnings({ source, data, files }: Draft): Promise<string[]> {
  const response = await fetch(CAPABILITIES_PATH);
  const capabilities = response.ok ? parseCapabilities(await response.text()) : null;
  if (capabilities === null) return [];
  const parts = files.map(({ key, content }) => ({ key, bytes: content.bytes() }));
  return describeMissing(missingFonts({ source, files: parts, data: data === "" ? null : data }, capabilities.fonts));
}
