/** Pictures in data that are cut off, as by a column of a database that is too short: Typst fills the rest of half a JPEG with grey. */
import { findUnusableFiles } from "../../document/unusable-files.ts";

/** A member with a `data:` URL, in JSON whose slashes may be escaped. */
const PICTURE = /"([^"\\]{0,100})"\s*:\s*"data:image\\?\/(png|jpeg|gif|webp);base64,([A-Za-z0-9+/\\=]*)"/g;

/** @param text JSON @returns a sentence on the first picture that is cut off, if one is */
export function describeCutPictures(text: string): string[] {
  for (const [, member, kind, base64 = ""] of text.matchAll(PICTURE)) {
    const bytes = Buffer.from(base64.replaceAll("\\", ""), "base64");
    const [unusable] = findUnusableFiles([{ key: `picture.${kind}`, bytes }]);
    if (unusable?.isCutOff === true) return [`The picture "${member}" of the data is cut off: its end is missing.`];
  }
  return [];
}
