/**
 * Which characters each font family has. Typst's own list does not say, so they are read from the files that it names. For the
 * fonts embedded in Typst, they are recorded for its version.
 */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import type { FontFamily, FontVariant } from "../../protocol/capabilities.ts";
import { type CodePoints, codePointsOf, formatCodePoints, parseCodePoints } from "../../protocol/code-points.ts";
import { type FontFace, fontFaces } from "../../protocol/font-file.ts";
import { EMBEDDED_CODE_POINTS } from "./embedded-fonts.ts";

/** A family as Typst lists it. */
export interface ListedFamily {
  readonly family: string;
  readonly variants: readonly FontVariant[];
  /** The files with its fonts, as Typst sees them; null for those that are part of Typst. */
  readonly files: readonly (string | null)[];
}

/** A folder of fonts: its path as Typst sees it, and on the host. */
interface FontFolder {
  readonly seen: string;
  readonly path: string;
}

/** Adds its characters to each family, except to one with a font that cannot be read. */
export async function withCodePoints(
  families: readonly ListedFamily[],
  folders: readonly FontFolder[],
): Promise<FontFamily[]> {
  const faces = new Map<string, readonly FontFace[]>();
  // One after the other: files are read only at start, and a folder may have hundreds of large ones.
  for (const file of new Set(families.flatMap(({ files }) => files))) {
    if (file !== null) faces.set(file, await readFaces(file, folders));
  }
  return families.map(({ family, variants, files }) => {
    const sets = files.flatMap((file) => {
      if (file === null) return [parseCodePoints(EMBEDDED_CODE_POINTS[family] ?? "-")];
      const all = faces.get(file) ?? [];
      const own = all.filter((face) => face.family === family);
      // If none has the family name that Typst gives, any of them may be meant.
      return (own.length > 0 ? own : all).map(({ codePoints }) => codePoints);
    });
    const known = sets.filter((set): set is CodePoints => set !== null);
    const isComplete = sets.length > 0 && known.length === sets.length;
    return {
      family,
      variants: [...variants],
      ...(isComplete && { code_points: formatCodePoints(codePointsOf(known.flat())) }),
    };
  });
}

async function readFaces(file: string, folders: readonly FontFolder[]): Promise<FontFace[]> {
  const folder = folders.find(({ seen }) => file.startsWith(`${seen}/`));
  const path = folder === undefined ? file : join(folder.path, file.slice(folder.seen.length));
  // Typst has read the file in the sandbox, so this fails only if it has been removed since.
  const bytes = await readFile(path).catch(() => null);
  return bytes === null ? [] : fontFaces(bytes);
}
