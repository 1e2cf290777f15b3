/**
 * Which characters each family has: Typst lists its fonts without them, so they are read from the files that it names. Those
 * of the fonts that are part of Typst are known for its version.
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

/** A folder of fonts as Typst sees it, and where it is. */
interface FontFolder {
  readonly seen: string;
  readonly path: string;
}

/** The families with the characters of each. A family with a font that cannot be read is left without them. */
export async function withCodePoints(
  families: readonly ListedFamily[],
  folders: readonly FontFolder[],
): Promise<FontFamily[]> {
  const faces = new Map<string, readonly FontFace[]>();
  // One after the other: they are read at start only, and a folder may have hundreds of large ones.
  for (const file of new Set(families.flatMap(({ files }) => files))) {
    if (file !== null) faces.set(file, await readFaces(file, folders));
  }
  return families.map(({ family, variants, files }) => {
    const sets = files.flatMap((file) => {
      if (file === null) return [parseCodePoints(EMBEDDED_CODE_POINTS[family] ?? "-")];
      const all = faces.get(file) ?? [];
      const own = all.filter((face) => face.family === family);
      // If none has the name that Typst reads, it may be any of them.
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
  // Typst has read it in the sandbox, so this fails only if it was removed since.
  const bytes = await readFile(path).catch(() => null);
  return bytes === null ? [] : fontFaces(bytes);
}
