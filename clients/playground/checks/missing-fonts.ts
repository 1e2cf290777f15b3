/**
 * The worker that finds what a document lacks: families that neither draft nor deployment has, characters without a font,
 * and scripts in a font that is none for them. It is loaded after the first document.
 */
import type { Capabilities } from "../../../protocol/capabilities.ts";
import { suggestFamily } from "../../data-schema/similar-name.ts";
import { readDocumentFonts } from "../../document/fonts/document-fonts.ts";
import { describeDocumentFonts } from "../../document/fonts/font-findings.ts";
import {
  describeFontNotes,
  describeImages,
  describeMissingFamilies,
  findWantedFonts,
} from "../../document/fonts/missing-fonts.ts";
import { type DocumentText, describeUncoveredScripts } from "../../document/fonts/text-scripts.ts";
import { fetchCapabilities } from "../../typescript/capabilities.ts";
import { answerQuestions } from "../page/timed-worker.ts";
import { openParser } from "./page-parser.ts";

export interface RenderedText extends DocumentText {
  /** The document, if it is a PDF: an image tells nothing of its fonts. */
  readonly pdf: Uint8Array | null;
}

answerQuestions(openParser(), async (rendered: RenderedText) => {
  // Without a connection, only the document itself tells something.
  const published = await fetchCapabilities(new URL("..", location.href).href);
  return warningsOn(rendered, published === "unchanged" ? null : (published?.capabilities ?? null));
});

function warningsOn(rendered: RenderedText, capabilities: Capabilities | null): string[] {
  const wanted = findWantedFonts(rendered);
  const document = rendered.pdf === null ? null : readDocumentFonts(rendered.pdf);
  const ofDocument = document === null ? [] : describeDocumentFonts(document, wanted.named);
  const ofImages = describeImages(wanted, capabilities?.fonts ?? null);
  const notes = describeFontNotes(wanted, capabilities?.fonts ?? null);
  if (capabilities === null) return [...notes, ...ofImages, ...ofDocument];
  const { fonts, scripts } = capabilities;
  const suggest = suggestFamily([...wanted.offered, ...fonts.map(({ family }) => family)]);
  return [
    ...describeMissingFamilies(wanted.families, wanted, fonts, suggest),
    ...notes,
    ...ofImages,
    ...(document === null ? describeUncoveredScripts(rendered, scripts) : ofDocument),
  ];
}
