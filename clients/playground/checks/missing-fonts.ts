/** The worker that finds families which neither draft nor deployment has, loaded after the first document. */
import { CAPABILITIES_PATH, MAX_CAPABILITIES_BYTES, parseCapabilities } from "../../../protocol/capabilities.ts";
import {
  type DocumentParts,
  describeMissingBold,
  describeMissingFamilies,
  findWantedFonts,
} from "../../typescript/fonts/missing-fonts.ts";
import { readText } from "../../typescript/transport.ts";

addEventListener("message", ({ data }: MessageEvent<DocumentParts>) => void answer(data));

async function answer(document: DocumentParts): Promise<void> {
  // Without a connection there are no warnings.
  postMessage(await warningsOn(document).catch(() => []));
}

async function warningsOn(document: DocumentParts): Promise<string[]> {
  const response = await fetch(CAPABILITIES_PATH);
  const text = response.ok ? await readText(response, MAX_CAPABILITIES_BYTES) : null;
  const capabilities = text === null ? null : parseCapabilities(text);
  if (capabilities === null) return [];
  const wanted = findWantedFonts(document);
  const { fonts } = capabilities;
  return [...describeMissingFamilies(wanted, fonts), ...describeMissingBold(wanted, fonts)];
}
